"""Ops of molecular dynamics by neural networks: neighbourhoods, their embedding, forces, virials.

natoms holds [atoms of the frame, atoms with ghosts, atoms of each type ...]. How the kernels lay
out what they sum over is unconfirmed, so these ops have shapes and no values.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import require
from ge_xdsl.dialects.ge.extents import bounded, count_of, of_rank
from ge_xdsl.dialects.ge.fields import floating, integer, integers, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import known_ints, vector_length
from ge_xdsl.dialects.ge.recurrent import dims, expect
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor


def _atoms(op: GeOp, natoms: Tensor) -> tuple[int, int]:
    """The atoms of a frame without and with ghosts, DYNAMIC while natoms is unknown."""
    require(natoms, "natoms", (DataType.DT_INT32,), "DT_INT32")
    if vector_length(natoms, "natoms") in (0, 1):
        raise VerifyException("natoms has fewer than 2 entries, expected at least 2")
    known = known_ints(op, "natoms")
    if known is None:
        return DYNAMIC, DYNAMIC
    return count_of(known[0], "natoms"), count_of(known[1], "natoms")


def _neighbours(*selected: Sequence[int]) -> int:
    """How many neighbours an atom has, summed over types."""
    return sum(count_of(value, "number of neighbours") for part in selected for value in part)


class TabulateFusionOp(GeOp):
    """descriptor [L, 4, last_layer_size] of the embedding table and em [L, neighbours, 4]

    C1: the operands are floating-point tensors. C2: em is [L, N, 4]. C3: em_x has rank 2.
    C4: table has rank 2. C5: last_layer_size is 1 or more.
    """

    name = "ge.TabulateFusion"

    table = operand()
    table_info = operand()
    em_x = operand()
    em = operand()
    descriptor = result()
    last_layer_size = integer()

    def infer(self, table: Tensor, table_info: Tensor, em_x: Tensor, em: Tensor) -> Tensor:
        check_floats(table=table, table_info=table_info, em_x=em_x, em=em)  # C1
        expect(em, (DYNAMIC, DYNAMIC, 4), "em")  # C2
        of_rank(em_x, 2, "em_x")  # C3
        of_rank(table, 2, "table")  # C4
        last = count_of(self.last_layer_size, "last_layer_size", 1)  # C5
        return em.with_shape(bounded((dims(em, 3, "em")[0], 4, last)))


class TabulateFusionGradOp(GeOp):
    """dy_dem_x and dy_dem, the gradients of TabulateFusion in the shapes of em_x and em

    C1: the operands are floating-point tensors. C2: em is [L, N, 4]. C3: em_x has rank 2.
    C4: dy and descriptor are [L, 4, columns], of one shape.
    """

    name = "ge.TabulateFusionGrad"

    table = operand()
    table_info = operand()
    em_x = operand()
    em = operand()
    dy = operand()
    descriptor = operand()
    dy_dem_x = result()
    dy_dem = result()

    def infer(
        self, table: Tensor, table_info: Tensor, em_x: Tensor, em: Tensor, dy: Tensor,
        descriptor: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        check_floats(table=table, table_info=table_info, em_x=em_x, em=em)  # C1
        check_floats(dy=dy, descriptor=descriptor)  # C1
        expect(em, (DYNAMIC, DYNAMIC, 4), "em")  # C2
        of_rank(em_x, 2, "em_x")  # C3
        rows = dims(em, 3, "em")[0]
        expect(dy, (rows, 4, DYNAMIC), "dy")  # C4
        expect(descriptor, (rows, 4, dims(dy, 3, "dy")[2]), "descriptor")  # C4
        return em_x, em


class ProdEnvMatAOp(GeOp):
    """What each atom sees around it: descrpt [S, L*N*4], descrpt_deriv [S, L*N*12], rij [S, L*N*3]
    and nlist [S, L*N]

    S samples of L atoms with N neighbours, the sum of sel_a and sel_r. C1: coord, box, davg and
    dstd are floating-point tensors. C2: coord has rank 2. C3: type is i32, of coord's samples.
    C4: natoms is i32, with 2 entries or more. C5: mesh is i32. C6: sel_a and sel_r are not
    negative.
    """

    name = "ge.ProdEnvMatA"

    coord = operand()
    type = operand()
    natoms = operand()
    box = operand()
    mesh = operand()
    davg = operand()
    dstd = operand()
    descrpt = result()
    descrpt_deriv = result()
    rij = result()
    nlist = result()
    rcut_a = floating(1.0)
    rcut_r = floating(1.0)
    rcut_r_smth = floating(1.0)
    sel_a = integers(())
    sel_r = integers(())

    def infer(
        self, coord: Tensor, type: Tensor, natoms: Tensor, box: Tensor, mesh: Tensor,
        davg: Tensor, dstd: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        check_floats(coord=coord, box=box, davg=davg, dstd=dstd)  # C1
        samples, _ = dims(coord, 2, "coord")  # C2
        require(type, "type", (DataType.DT_INT32,), "DT_INT32")  # C3
        samples = merge_dim(samples, dims(type, 2, "type")[0], "samples of coord and type")  # C3
        require(mesh, "mesh", (DataType.DT_INT32,), "DT_INT32")  # C5
        pairs = multiply_dims(_atoms(self, natoms)[0], _neighbours(self.sel_a, self.sel_r))  # C4 C6
        floats = tuple(
            coord.with_shape(bounded((samples, multiply_dims(pairs, many)))) for many in (4, 12, 3)
        )
        return *floats, Tensor(DataType.DT_INT32, bounded((samples, pairs)))


class ProdForceSeAOp(GeOp):
    """atom_force [S, A*3] from the derivatives of the network and of the descriptors

    S frames, A atoms with ghosts, N = n_a_sel + n_r_sel neighbours. C1: net_deriv and in_deriv are
    floating-point tensors of rank 2. C2: nlist is i32, of the frames of net_deriv. C3: natoms is
    i32, with 2 entries or more. C4: n_a_sel and n_r_sel are not negative. C5: in_deriv has 3
    columns per column of net_deriv.
    """

    name = "ge.ProdForceSeA"

    net_deriv = operand()
    in_deriv = operand()
    nlist = operand()
    natoms = operand()
    atom_force = result()
    n_a_sel = integer()
    n_r_sel = integer()

    def infer(self, net_deriv: Tensor, in_deriv: Tensor, nlist: Tensor, natoms: Tensor) -> Tensor:
        frames = _frames(self, net_deriv, in_deriv, nlist)  # C1 C2 C4 C5
        total = _atoms(self, natoms)[1]  # C3
        return net_deriv.with_shape(bounded((frames, multiply_dims(total, 3))))


class ProdVirialSeAOp(GeOp):
    """virial [S, 9] and atom_virial [S, A*9], as ProdForceSeA with the distances rij

    C1: net_deriv, in_deriv and rij are floating-point tensors of rank 2. C2: nlist is i32, of the
    frames of net_deriv. C3: natoms is i32, with 2 entries or more. C4: n_a_sel and n_r_sel are not
    negative. C5: in_deriv has 3 columns per column of net_deriv.
    """

    name = "ge.ProdVirialSeA"

    net_deriv = operand()
    in_deriv = operand()
    rij = operand()
    nlist = operand()
    natoms = operand()
    virial = result()
    atom_virial = result()
    n_a_sel = integer()
    n_r_sel = integer()

    def infer(
        self, net_deriv: Tensor, in_deriv: Tensor, rij: Tensor, nlist: Tensor, natoms: Tensor
    ) -> tuple[Tensor, Tensor]:
        check_floats(rij=rij)  # C1
        frames = _frames(self, net_deriv, in_deriv, nlist)  # C1 C2 C4 C5
        frames = merge_dim(frames, dims(rij, 2, "rij")[0], "frames of net_deriv and rij")  # C1
        total = _atoms(self, natoms)[1]  # C3
        every = bounded((frames, multiply_dims(total, 9)))
        return net_deriv.with_shape((frames, 9)), net_deriv.with_shape(every)


def _frames(op: GeOp, net_deriv: Tensor, in_deriv: Tensor, nlist: Tensor) -> int:
    """The frames of the derivatives and of nlist."""
    check_floats(net_deriv=net_deriv, in_deriv=in_deriv)
    frames, columns = dims(net_deriv, 2, "net_deriv")
    expect(in_deriv, (frames, multiply_dims(columns, 3)), "in_deriv")
    require(nlist, "nlist", (DataType.DT_INT32,), "DT_INT32")
    _neighbours([op.get_attr("n_a_sel"), op.get_attr("n_r_sel")])
    return merge_dim(frames, dims(nlist, 2, "nlist")[0], "frames of net_deriv and nlist")
