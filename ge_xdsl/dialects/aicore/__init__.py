"""The loop-level dialect: tiles in memory spaces, loops over tiles and cores, and pipes.

An op states its semantics, pipe, legality and work, and nothing about a chip.
"""

from xdsl.ir import Dialect

from ge_xdsl.dialects.aicore.cross import (
    AffineOp,
    BlockIdxOp,
    BoundOp,
    CrossSetOp,
    CrossWaitOp,
    SubBlockIdxOp,
    SyncAllOp,
    TakeOp,
    WorkspaceOp,
)
from ge_xdsl.dialects.aicore.cube import FixpipeOp, MmadOp
from ge_xdsl.dialects.aicore.indexed import (
    ScalarOp,
    VargreduceOp,
    VgatherOp,
    VscanOp,
    VscatterOp,
    VsortOp,
)
from ge_xdsl.dialects.aicore.maps import CopyMapL1Op, CopyMapUbOp, Load3dOp, VspreadOp, VtapOp
from ge_xdsl.dialects.aicore.move import (
    CopyGmL1Op,
    CopyGmUbOp,
    CopyRowsOp,
    CopyUbGmOp,
    LoadBiasOp,
    LoadL0aOp,
    LoadL0bOp,
)
from ge_xdsl.dialects.aicore.paths import (
    CopyL0cUbOp,
    CopyL1GmOp,
    CopyL1UbOp,
    CopyUbL1Op,
    CopyUbUbOp,
    FillL0Op,
    FillOp,
    LoadQuantOp,
)
from ge_xdsl.dialects.aicore.pick import (
    ScalarLoadOp,
    ScalarStoreOp,
    VcompactOp,
    ViotaOp,
)
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp, LaunchOp, SectionOp
from ge_xdsl.dialects.aicore.sync import PipeBarrierOp, SetFlagOp, WaitFlagOp
from ge_xdsl.dialects.aicore.types import TileType
from ge_xdsl.dialects.aicore.vector import (
    VbinaryOp,
    VbrcOp,
    VcastOp,
    VcmpOp,
    VcmpsOp,
    VdupOp,
    VfmaOp,
    VreduceOp,
    VscalarOp,
    VselOp,
    VselsOp,
    VtransposeOp,
    VunaryOp,
)
from ge_xdsl.dialects.aicore.view import StridedOp, ViewOp

AICORE = Dialect(
    "aicore",
    [
        KernelOp,
        LaunchOp,
        ForOp,
        SectionOp,
        AllocOp,
        WorkspaceOp,
        TakeOp,
        CrossSetOp,
        CrossWaitOp,
        SyncAllOp,
        BlockIdxOp,
        SubBlockIdxOp,
        AffineOp,
        BoundOp,
        CopyGmL1Op,
        CopyGmUbOp,
        CopyUbGmOp,
        CopyRowsOp,
        LoadL0aOp,
        LoadL0bOp,
        LoadBiasOp,
        MmadOp,
        FixpipeOp,
        VunaryOp,
        VbinaryOp,
        VscalarOp,
        VcastOp,
        VdupOp,
        VbrcOp,
        VcmpOp,
        VselOp,
        VreduceOp,
        VtransposeOp,
        VgatherOp,
        VsortOp,
        VargreduceOp,
        VscanOp,
        VscatterOp,
        ScalarOp,
        CopyMapL1Op,
        CopyMapUbOp,
        Load3dOp,
        VspreadOp,
        VtapOp,
        CopyUbUbOp,
        CopyL1GmOp,
        CopyUbL1Op,
        CopyL1UbOp,
        CopyL0cUbOp,
        LoadQuantOp,
        FillOp,
        FillL0Op,
        VfmaOp,
        VcmpsOp,
        VselsOp,
        ViotaOp,
        VcompactOp,
        ScalarLoadOp,
        ScalarStoreOp,
        SetFlagOp,
        WaitFlagOp,
        PipeBarrierOp,
        ViewOp,
        StridedOp,
    ],
    [TileType],
)
