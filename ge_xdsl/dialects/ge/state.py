"""Ops that change a variable: assignments, and the steps of optimisers.

The variable's new value is a result under the operand's own name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.irdl import traits_def

from ge_xdsl.dialects.ge.elements import one_element_type, require
from ge_xdsl.dialects.ge.extents import merge_shapes
from ge_xdsl.dialects.ge.fields import boolean, data_type, floating, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_scalar
from ge_xdsl.dialects.ge.types import DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class AssignOp(GeOp):
    """ref = value, whose shape and element type it takes; validate_shape and use_locking are not
    read."""

    name = "ge.Assign"

    ref = operand()
    value = operand()
    new_ref = result("ref")
    validate_shape = boolean(True)
    use_locking = boolean(False)

    def infer(self, ref: Tensor, value: Tensor) -> Tensor:
        return value

    def evaluate(self, ref: Array, value: Array) -> Array:
        return value


class AssignAddOp(GeOp):
    """ref = ref + value; integers wrap

    use_locking has no effect: one update comes at a time. C1: ref and value have one element type.
    C2: they have one shape.
    """

    name = "ge.AssignAdd"

    ref = operand()
    value = operand()
    new_ref = result("ref")
    use_locking = boolean(False)

    widens = True

    def infer(self, ref: Tensor, value: Tensor) -> Tensor:
        one_element_type(ref, value)  # C1
        return ref.with_shape(merge_shapes(ref.shape, value.shape, "shapes of ref and value"))  # C2

    def evaluate(self, ref: Array, value: Array) -> Array:
        return ref + value


class AssignSubOp(GeOp):
    """var = var - value; integers wrap

    use_locking has no effect: one update comes at a time. C1: var and value have one element type.
    C2: they have one shape.
    """

    name = "ge.AssignSub"

    var = operand()
    value = operand()
    new_var = result("var")
    use_locking = boolean(False)

    widens = True

    def infer(self, var: Tensor, value: Tensor) -> Tensor:
        one_element_type(var, value)  # C1
        return var.with_shape(merge_shapes(var.shape, value.shape, "shapes of var and value"))  # C2

    def evaluate(self, var: Array, value: Array) -> Array:
        return var - value


class AssignVariableOp(GeOp):
    """The variable behind a resource gets a value; there is no result.

    C1: resource is a resource. C2: value has the element type dtype.
    """

    name = "ge.AssignVariableOp"

    resource = operand()
    value = operand()
    dtype = data_type()

    traits = traits_def()

    def infer(self, resource: Tensor, value: Tensor) -> list[Tensor]:
        require(resource, "resource", (DataType.DT_RESOURCE,), "DT_RESOURCE")  # C1
        require(value, "value", (self.dtype,), self.dtype.name)  # C2
        return []


def like_var(var: Tensor, **tensors: Tensor) -> Tensor:
    """var, after a check that the others have its element type and shape."""
    one_element_type(var, *tensors.values())
    shape = var.shape
    for name, tensor in tensors.items():
        shape = merge_shapes(shape, tensor.shape, f"shapes of var and {name}")
    return var.with_shape(shape)


def check_numbers(var: Tensor, **tensors: Tensor) -> None:
    """Each is one number of the element type of var."""
    for name, tensor in tensors.items():
        one_element_type(var, tensor)
        check_scalar(tensor, name)


class _Momentum(GeOp):
    """A step of var by what accum has gathered of the gradients."""

    var = operand()
    accum = operand()
    lr = operand()
    grad = operand()
    momentum = operand()
    new_var = result("var")

    widens = True

    def infer(self, var: Tensor, *rest: Tensor) -> Tensor:
        accum, lr, grad, momentum = rest
        check_numbers(var, lr=lr, momentum=momentum)  # C2
        return like_var(var, accum=accum, grad=grad)  # C1

    def evaluate(self, var: Array, *rest: Array) -> Array:
        accum, lr, grad, momentum = rest
        return self.step(var, accum, lr.reshape(()), grad, momentum.reshape(()))

    def step(self, var: Array, accum: Array, lr: Array, grad: Array, momentum: Array) -> Array:
        """The new var."""
        raise NotImplementedError


class ApplyMomentumOp(_Momentum):
    """var = var - lr * accum', accum' = accum * momentum + grad

    With use_nesterov var - lr * grad - lr * momentum * accum'. Only var is a result. use_locking
    has no effect: one update comes at a time. C1: var, accum and grad have one element type and
    shape. C2: lr and momentum are one number each, of that type.
    """

    name = "ge.ApplyMomentum"

    use_nesterov = boolean(False)
    use_locking = boolean(False)

    def step(self, var: Array, accum: Array, lr: Array, grad: Array, momentum: Array) -> Array:
        accum = accum * momentum + grad
        if self.use_nesterov:
            return var - grad * lr - accum * momentum * lr
        return var - accum * lr


class ApplyKerasMomentumOp(_Momentum):
    """var = var + accum', accum' = momentum * accum - lr * grad

    With use_nesterov var + momentum * accum' - lr * grad. Only var is a result. use_locking has no
    effect: one update comes at a time. C1: var, accum and grad have one element type and shape. C2:
    lr and momentum are one number each, of that type.
    """

    name = "ge.ApplyKerasMomentum"

    use_locking = boolean(False)
    use_nesterov = boolean(False)

    def step(self, var: Array, accum: Array, lr: Array, grad: Array, momentum: Array) -> Array:
        accum = momentum * accum - lr * grad
        return var + momentum * accum - lr * grad if self.use_nesterov else var + accum


class FusedMulApplyMomentumExternOp(GeOp):
    """accum = accum * momentum + x1 * x2, var = var - lr * accum, and the same step on var_copy

    With use_nesterov the step is lr * (x1 * x2 + momentum * accum). var_copy (f16) loses the step
    rounded to f16. use_locking has no effect: one update comes at a time. C1: var is f32 and
    var_copy f16. C2: var, accum, x1 and var_copy have one shape. C3: lr, momentum and x2 are one
    number each.
    """

    name = "ge.FusedMulApplyMomentumExtern"

    var = operand()
    accum = operand()
    lr = operand()
    x1 = operand()
    momentum = operand()
    x2 = operand()
    var_copy = operand()
    new_var = result("var")
    new_var_copy = result("var_copy")
    new_accum = result("accum")
    use_nesterov = boolean(False)
    use_locking = boolean(False)

    def infer(self, var: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        accum, lr, x1, momentum, x2, var_copy = rest
        require(var, "var", (DataType.DT_FLOAT,), "DT_FLOAT")  # C1
        require(var_copy, "var_copy", (DataType.DT_FLOAT16,), "DT_FLOAT16")  # C1
        for name, tensor in (("lr", lr), ("momentum", momentum), ("x2", x2)):
            check_scalar(tensor, name)  # C3
        for name, tensor in (("accum", accum), ("x1", x1), ("var_copy", var_copy)):
            merge_shapes(var.shape, tensor.shape, f"shapes of var and {name}")  # C2
        return var, var_copy, accum

    def evaluate(self, var: Array, *rest: Array) -> tuple[Array, ...]:
        import numpy as np

        accum, lr, x1, momentum, x2 = (a.astype(np.float32) for a in rest[:5])
        lr, momentum, x2 = (a.reshape(()) for a in (lr, momentum, x2))
        grad = x1 * x2
        accum = accum * momentum + grad
        step = lr * (grad + momentum * accum) if self.use_nesterov else lr * accum
        copy = rest[5] - step.astype(np.float16)
        return var - step, copy.astype(np.float16), accum.astype(rest[0].dtype)


class _Adam(GeOp):
    """What the steps of Adam share."""

    widens = True

    def checked(self, tensors: tuple[Tensor, ...], states: int) -> Tensor:
        """var; `states` operands, its own among them, and grad, the last, have its shape."""
        names = [io.name for io in self.prototype.inputs]
        var = tensors[0]
        like = dict(zip(names[1:states], tensors[1:states], strict=True))
        check_numbers(var, **dict(zip(names[states:-1], tensors[states:-1], strict=True)))  # C2
        return like_var(var, **like, grad=tensors[-1])  # C1

    def moved(self, arrays: tuple[Array, ...]) -> tuple[Array, Array, Array]:
        """(m, v, lr_t) after the step: both moments, and the rate without their bias."""
        import numpy as np

        m, v, *numbers, grad = arrays
        beta1_power, beta2_power, lr, beta1, beta2, _ = (n.reshape(()) for n in numbers)
        m = m + (1 - beta1) * (grad - m)
        v = v + (1 - beta2) * (grad * grad - v)
        return m, v, lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)


def adam_step(
    var: Array, arrays: tuple[Array, ...], moved: tuple[Array, ...], nesterov: bool
) -> Array:
    """var after the step whose moments and rate are `moved`."""
    import numpy as np

    m, v, rate = moved
    *_, beta1, _, epsilon, grad = arrays
    beta1, epsilon = beta1.reshape(()), epsilon.reshape(())
    top = m * beta1 + (1 - beta1) * grad if nesterov else m
    return var - rate * top / (epsilon + np.sqrt(v))


class ApplyAdamOp(_Adam):
    """var = var - lr_t * m' / (epsilon + sqrt(v')), lr_t = lr * sqrt(1 - beta2_power) /
    (1 - beta1_power)

    m' = m + (1 - beta1) * (grad - m), v' = v + (1 - beta2) * (grad^2 - v). With use_nesterov beta1
    * m' + (1 - beta1) * grad stands for m'. Only var is a result. use_locking has no effect: one
    update comes at a time. C1: var, m, v and grad have one element type and shape. C2: the others
    are one number each, of that type.
    """

    name = "ge.ApplyAdam"

    var = operand()
    m = operand()
    v = operand()
    beta1_power = operand()
    beta2_power = operand()
    lr = operand()
    beta1 = operand()
    beta2 = operand()
    epsilon = operand()
    grad = operand()
    new_var = result("var")
    use_locking = boolean(False)
    use_nesterov = boolean(False)

    def infer(self, *tensors: Tensor) -> Tensor:
        return self.checked(tensors, 3)

    def evaluate(self, var: Array, *rest: Array) -> Array:
        return adam_step(var, rest, self.moved(rest), self.use_nesterov)


class ApplyAdamDOp(_Adam):
    """var, m, v after a step of Adam; var = var - lr_t * m' / (epsilon + sqrt(v'))

    lr_t = lr * sqrt(1 - beta2_power) / (1 - beta1_power), m' = m + (1 - beta1) * (grad - m), v' = v
    + (1 - beta2) * (grad^2 - v). With use_nesterov beta1 * m' + (1 - beta1) * grad stands for m'.
    use_locking has no effect: one update comes at a time. C1: var, m, v and grad have one element
    type and shape. C2: the others are one number each, of that type.
    """

    name = "ge.ApplyAdamD"

    var = operand()
    m = operand()
    v = operand()
    beta1_power = operand()
    beta2_power = operand()
    lr = operand()
    beta1 = operand()
    beta2 = operand()
    epsilon = operand()
    grad = operand()
    new_var = result("var")
    new_m = result("m")
    new_v = result("v")
    use_locking = boolean(False)
    use_nesterov = boolean(False)

    def infer(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return self.checked(tensors, 3), *tensors[1:3]

    def evaluate(self, var: Array, *rest: Array) -> tuple[Array, ...]:
        moved = self.moved(rest)
        return adam_step(var, rest, moved, self.use_nesterov), *moved[:2]


class ApplyAdamWithAmsgradOp(_Adam):
    """var = var - lr_t * m' / (epsilon + sqrt(vhat')), vhat' = max(vhat, v')

    m', v' and lr_t are those of ApplyAdam. Only var is a result. use_locking has no effect: one
    update comes at a time. C1: var, m, v, vhat and grad have one element type and shape. C2: the
    others are one number each, of that type.
    """

    name = "ge.ApplyAdamWithAmsgrad"

    var = operand()
    m = operand()
    v = operand()
    vhat = operand()
    beta1_power = operand()
    beta2_power = operand()
    lr = operand()
    beta1 = operand()
    beta2 = operand()
    epsilon = operand()
    grad = operand()
    new_var = result("var")
    use_locking = boolean(False)

    def infer(self, *tensors: Tensor) -> Tensor:
        return self.checked(tensors, 4)

    def evaluate(self, var: Array, *rest: Array) -> Array:
        import numpy as np

        m, v, vhat, *others = rest
        m, v, rate = self.moved((m, v, *others))
        return adam_step(var, (m, v, *others), (m, np.maximum(vhat, v), rate), False)


class _Lars(GeOp):
    """A gradient scaled by the ratio of the norms of weights and gradients."""

    w = operand()
    g = operand()

    hyperpara = floating(0.001)
    epsilon = floating(1e-05)
    use_clip = boolean(False)

    def scaled(
        self, w: Array, g: Array, norms: tuple[Array, Array], rest: tuple[Array, ...]
    ) -> Array:
        """g_new for the norms of w and g; `rest` is weight_decay and learning_rate."""
        import numpy as np

        decay, rate = (a.reshape(()) for a in rest)
        weight, grad = norms
        scale = np.float32(self.hyperpara) * weight
        scale = scale / (decay * weight + grad + np.float32(self.epsilon))
        scale = np.clip(scale / rate, 0, 1) if self.use_clip else scale
        return (w * decay + g) * scale.astype(w.dtype)

    def check(self, w: Tensor, g: Tensor, **numbers: Tensor) -> Tensor:
        for name, tensor in (("w", w), ("g", g), *numbers.items()):
            require(tensor, name, (DataType.DT_FLOAT,), "DT_FLOAT")  # C1
        for name, tensor in numbers.items():
            check_scalar(tensor, name)  # C3
        return w.with_shape(merge_shapes(w.shape, g.shape, "shapes of w and g"))  # C2


class LarsV2Op(_Lars):
    """g_new = (w * weight_decay + g) * c,
    c = hyperpara * |w| / (weight_decay * |w| + |g| + epsilon)

    |x| is the root of the sum of squares. use_clip takes clip(c / learning_rate, 0, 1) for c. C1:
    all operands are f32. C2: w and g have one shape. C3: weight_decay and learning_rate are one
    number each.
    """

    name = "ge.LarsV2"

    weight_decay = operand()
    learning_rate = operand()
    g_new = result()

    def infer(self, w: Tensor, g: Tensor, *rest: Tensor) -> Tensor:
        return self.check(w, g, weight_decay=rest[0], learning_rate=rest[1])

    def evaluate(self, w: Array, g: Array, *rest: Array) -> Array:
        import numpy as np

        return self.scaled(w, g, (np.sqrt(np.sum(w * w)), np.sqrt(np.sum(g * g))), rest)


class LarsV2UpdateOp(_Lars):
    """g_new = (w * weight_decay + g) * c,
    c = hyperpara * |w| / (weight_decay * |w| + |g| + epsilon)

    |w| and |g| are the roots of w_square_sum and g_square_sum. use_clip takes clip(c /
    learning_rate, 0, 1) for c. C1: all operands are f32. C2: w and g have one shape. C3: the others
    are one number each.
    """

    name = "ge.LarsV2Update"

    w_square_sum = operand()
    g_square_sum = operand()
    weight_decay = operand()
    learning_rate = operand()
    g_new = result()

    def infer(self, w: Tensor, g: Tensor, *rest: Tensor) -> Tensor:
        names = [io.name for io in self.prototype.inputs[2:]]
        return self.check(w, g, **dict(zip(names, rest, strict=True)))

    def evaluate(self, w: Array, g: Array, *rest: Array) -> Array:
        import numpy as np

        norms = np.sqrt(rest[0].reshape(())), np.sqrt(rest[1].reshape(()))
        return self.scaled(w, g, norms, rest[2:])
