"""Operators of torch beside those of the common models: grids, masks, distances, strided views."""

import pytest
from torch_runs import Function, check, exported, flat, normal, torch

import ge_xdsl as gx

F = torch.nn.functional

X = normal(3, 4)
INTS = torch.tensor([[-7, -2, 0], [1, 5, 9]])
MASK = torch.tensor([[True, False, True], [False, False, True]])
PLANE = normal(2, 3, 5, 6)
VOLUME = normal(1, 2, 5, 6, 7)
GRID = normal(2, 4, 4, 2, seed=3).tanh() * 1.1
PLACES = torch.tensor([[0, 2, 1, 0], [1, 1, 0, 2]])

CASES = {
    "atan2": (lambda x, y: torch.atan2(x, y), (X, normal(3, 4, seed=1))),
    "as_strided overlapping": (lambda x: x.as_strided((3, 2, 2), (2, 1, 3), 1), (X,)),
    "as_strided of a transpose": (lambda x: (x.t() + 0).as_strided((4, 3), (3, 1)), (X,)),
    "as_strided in order": (lambda x: x.as_strided((2, 6), (6, 1)), (X,)),
    "diagonal": (lambda x: x.diagonal(1), (X,)),
    "diagonal of planes": (lambda x: x.diagonal(-1, 1, 3), (PLANE,)),
    "mask": (lambda i, m: i[m], (INTS, MASK)),
    "mask of rows": (lambda x, m: x[m], (X, torch.tensor([True, False, True]))),
    "mask of columns": (lambda x, m: x[:, m], (INTS, torch.tensor([True, False, True]))),
    "nonzero": (torch.nonzero, (INTS,)),
    "masked_scatter": (torch.masked_scatter, (INTS, MASK, torch.arange(6))),
    "histogram": (lambda x: torch.histc(x, 5, -1, 1), (X,)),
    "scatter_reduce sum": (
        lambda x, i, y: x.scatter_reduce(0, i, y, "sum"),
        (X, PLACES, normal(2, 4, seed=5)),
    ),
    "scatter_reduce prod": (
        lambda x, i, y: x.scatter_reduce(0, i, y, "prod"),
        (X, PLACES, normal(2, 4, seed=5)),
    ),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2, (2, 1, 3), 1, ceil_mode=True), (VOLUME,)),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)), (VOLUME,)),
    "adaptive_avg_pool3d without batch": (lambda x: F.adaptive_avg_pool3d(x[0], 2), (VOLUME,)),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 2), (PLANE[0],)),
    "reflection pad": (lambda x: F.pad(x, (1, 2, 3, 0), "reflect"), (PLANE,)),
    "replication pad": (lambda x: F.pad(x, (1, 2, 3, 0), "replicate"), (PLANE,)),
    "circular pad": (lambda x: F.pad(x, (1, 2, 3, 0), "circular"), (PLANE,)),
    "nearest by a factor": (lambda x: F.interpolate(x, scale_factor=1.3), (PLANE,)),
    "bilinear by a factor": (
        lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"),
        (PLANE,),
    ),
    "bicubic": (lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), (PLANE,)),
    "unfold": (lambda x: F.unfold(x, 3, padding=1), (PLANE,)),
    "logsumexp": (lambda x: x.logsumexp(-1), (X,)),
    "nan_to_num": (lambda x: (x / (x > 0)).nan_to_num(0.5, 7, -7), (X,)),
    "logit": (lambda x: x.sigmoid().logit(), (X,)),
    "bucketize": (lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 0.5])), (X,)),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x[..., :4, :6], 2), (PLANE,)),
    "glu": (lambda x: F.glu(x), (X,)),
    "local_response_norm": (lambda x: F.local_response_norm(x, 2), (PLANE,)),
    "softmin": (lambda x: F.softmin(x, -1), (X,)),
    "cosine_similarity": (lambda x, y: F.cosine_similarity(x, y), (X, normal(3, 4, seed=1))),
    "one_hot": (lambda i: F.one_hot(i.abs(), 10), (INTS,)),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([1, 0, 3])), (X,)),
    "einsum": (lambda x: torch.einsum("bchw,bdhw->bcd", x, x), (PLANE,)),
    "group_norm": (lambda x: F.group_norm(x, 3), (PLANE,)),
    "instance_norm": (lambda x: F.instance_norm(x), (PLANE,)),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        (PLANE, normal(3, 4, 3, 3, seed=2)),
    ),
    "shifts": (
        lambda i, n: (i << 2, i >> 1, i << n, torch.bitwise_right_shift(i, n)),
        (INTS, INTS.abs() % 4),
    ),
    **{
        f"embedding_bag {mode}": (
            lambda i, t, mode=mode: F.embedding_bag(i, t, mode=mode),
            (PLACES, normal(5, 3)),
        )
        for mode in ("sum", "mean", "max")
    },
    **{
        f"embedding_bag {mode} with an empty bag, padding and a last offset": (
            lambda i, t, o, mode=mode: F.embedding_bag(
                i, t, o, mode=mode, padding_idx=2, include_last_offset=True
            ),
            (torch.tensor([0, 2, 4, 1, 2, 2, 3]), normal(5, 3), torch.tensor([0, 3, 3, 4, 6, 7])),
        )
        for mode in ("sum", "mean", "max")
    },
    "embedding_bag with weights": (
        lambda i, t, o, w: F.embedding_bag(i, t, o, mode="sum", per_sample_weights=w),
        (torch.tensor([0, 2, 4, 1, 2]), normal(5, 3), torch.tensor([0, 3]), normal(5, seed=7)),
    ),
    "conv3d": (lambda x, w: F.conv3d(x, w, padding=1), (VOLUME, normal(3, 2, 3, 3, 3, seed=2))),
}


@pytest.mark.parametrize("name", CASES)
def test_operators(name):
    """The numbers, types and shapes of eager torch, before and after optimisation."""
    function, args = CASES[name]
    check(gx.load(exported(Function(function), args)), args, flat(function(*args)))


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [False, True])
def test_sampled_grids(mode, padding, corners):
    def sample(x, grid):
        return F.grid_sample(x, grid, mode, padding, corners)

    model = gx.load(exported(Function(sample), (PLANE, GRID)))
    check(model, (PLANE, GRID), flat(sample(PLANE, GRID)))


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, float("inf")])
def test_distances(p):
    left, right = X, normal(5, 4, seed=4)

    def distance(x, y):
        return torch.cdist(x, y, p, compute_mode="donot_use_mm_for_euclid_dist")

    check(gx.load(exported(Function(distance), (left, right))), (left, right), [distance(X, right)])


def written(x, mask):
    y = x.clone()
    y[mask] = 3
    return y


def test_writes_under_a_mask():
    check(gx.load(exported(Function(written), (INTS, MASK))), (INTS, MASK), [written(INTS, MASK)])


ATTENTION = {
    "plain": {},
    "causal": {"is_causal": True},
    "scaled": {"scale": 0.3},
    "added mask": {"attn_mask": normal(1, 1, 5, 5, seed=7)},
    "mask": {"attn_mask": normal(5, 5, seed=7) > -1},
}


@pytest.mark.parametrize("name", ATTENTION)
def test_scaled_attention(name):
    """A view of what attention gives is legal, as it is after the kernel of eager torch."""
    q, k, v = (normal(2, 4, 5, 8, seed=seed) for seed in range(3))

    def attend(q, k, v):
        y = F.scaled_dot_product_attention(q, k, v, **ATTENTION[name])
        return y.transpose(1, 2).reshape(2, 5, -1).view(10, 32)

    check(gx.load(exported(Function(attend), (q, k, v))), (q, k, v), [attend(q, k, v)])


def test_attention_of_shared_heads():
    q, k, v = normal(2, 4, 5, 8), normal(2, 2, 5, 8, seed=1), normal(2, 2, 5, 8, seed=2)

    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    check(gx.load(exported(Function(attend), (q, k, v))), (q, k, v), [attend(q, k, v)])


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (
            lambda x: F.max_pool3d(x, 2, return_indices=True),
            (VOLUME,),
            "something reads the positions of the maxima, expected only the maxima",
        ),
        (
            lambda x: x[::2].as_strided((2, 2), (8, 1)),
            (X,),
            "argument 'self' has the strides (8, 1), expected memory without gaps",
        ),
        (
            lambda x: x[1:].as_strided((2, 2), (4, 1)),
            (X,),
            "argument 'self' starts inside its storage, expected the whole of it",
        ),
        (
            lambda x: torch.scatter_reduce(x, 0, PLACES, x, "mean"),
            (X,),
            "reduction is mean, expected sum or prod with those that are there",
        ),
    ],
)
def test_refusals(function, args, expected):
    with pytest.raises(gx.CompileError) as caught:
        gx.load(exported(Function(function), args))
    (line,) = str(caught.value).splitlines()
    assert expected in line
