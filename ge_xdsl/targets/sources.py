"""What the tags in `Target.sources` stand for."""

SOURCES = {
    "INI-pypto": "platform .ini file of the chip in the public pypto repository",
    "INI-8.1": "platform .ini file of the chip in a CANN 8.1.RC1 installation",
    "INI-ge": "platform .ini file of the chip in the test data of the public GE repository",
    "ARCH": "architecture page of the public Ascend C developer kit documents",
    "CUBE": "table of theoretical cube instruction performance in the same documents",
    "VEC": "table of vector instruction performance in the same documents",
    "PTO": "calibration constants of the public PTO instruction set repository",
    "FITTED": "fitted to published measurements on arch 2201, see targets/calibration.py",
    "NOMINAL": "bandwidth in the chip's documents times the share that arch 2201 reaches",
    "2201": "unchecked: the value of arch 2201, as no document at hand gives one for this arch",
    "KIN": "unchecked: as the next of kin that a document gives for this arch",
    "SETTLED": "a rule of the model, not a number of the chip",
    "ABSENT": "the chip does not have it, or no table gives it",
}
"""Tag -> where a number with that tag comes from."""
UNCHECKED = ("2201", "KIN")
"""The tags of numbers that no document gives for the chip."""
