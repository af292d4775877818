"""Op type -> its expansion."""

from __future__ import annotations

from ge_xdsl.lowering.expand import (
    activations,
    adjoints,
    arithmetic,
    attention,
    boxes,
    counting,
    experts,
    forms,
    images,
    losses,
    maxima,
    norms,
    picks,
    places,
    pools,
    products,
    quant,
    recurrent,
    reductions,
    rotary,
    routing,
    running,
    sampling,
    training,
)
from ge_xdsl.lowering.expand.builder import Expansion

EXPANSIONS: dict[str, Expansion] = {
    **activations.EXPANSIONS,
    **arithmetic.EXPANSIONS,
    **reductions.EXPANSIONS,
    **picks.EXPANSIONS,
    **places.EXPANSIONS,
    **running.EXPANSIONS,
    **images.EXPANSIONS,
    **pools.EXPANSIONS,
    **maxima.EXPANSIONS,
    **sampling.EXPANSIONS,
    **adjoints.EXPANSIONS,
    **losses.EXPANSIONS,
    **products.EXPANSIONS,
    **norms.EXPANSIONS,
    **recurrent.EXPANSIONS,
    **forms.EXPANSIONS,
    **attention.EXPANSIONS,
    **quant.EXPANSIONS,
    **experts.EXPANSIONS,
    **routing.EXPANSIONS,
    **rotary.EXPANSIONS,
    **training.EXPANSIONS,
    **boxes.EXPANSIONS,
    **counting.EXPANSIONS,
}
"""All expansions by op type."""
