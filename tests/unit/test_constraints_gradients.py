"""Constraints of gradients, gated units and dropout: graphs accepted and refused."""

import pytest
from constraint_table import bad, build, good
from op_constraints import snake
from xdsl.utils.exceptions import VerifyException

GOOD = good("""
SqrtGrad RsqrtGrad ReciprocalGrad AsinGrad AcosGrad AtanGrad AsinhGrad AcoshGrad AbsGrad \
SigmoidGrad TanhGrad | y: 2x3xf32, dy: 2x3xf32
InvGrad | x: 2x3xf32, grad: 2x3xf32
SoftmaxGrad | softmax: 2x3xf32, grad_softmax: 2x3xf32
LogSoftmaxGrad | grad: 2x3xf32, x: 2x3xf32
SoftmaxGradExt | grad: 2x3xf32, x1: 2x3xf32, x2: 1xf32
ConfusionSoftmaxGrad | grad: 2x3xf32, x: 2x3xf32
ConfusionMulGrad | input0: 2x3xf32, input1: 2x3xf32, input2: 2x3xf32
BiasAddGrad | x: 2x3xf32
MaximumGrad MinimumGrad | grads: 2x3xf32, x1: 2x3xf32, x2: 3xf32
ReluGrad Relu6Grad LeakyReluGrad SoftplusGrad SoftsignGrad HardShrinkGrad | gradients: 2x3xf32, \
features: 2x3xf32
ThresholdGradV2D | gradients: 2x3xf32, features: 2x3xf32; threshold=0.5
SoftShrinkGrad | input_grad: 2x3xf32, input_x: 2x3xf32
LogSigmoidGrad | grads: 2x3xf32, features: 2x3xf32
HardSigmoidGrad | grads: 2x3xf32, input_x: 2x3xf32
HardSwishGrad | grad: 2x3xf32, x: 2x3xf32
HardtanhGrad | result: 2x3xf32, grad: 2x3xf32
EluGrad EluGradV2 | grads: 2x3xf32, activations: 2x3xf32
SeluGrad | gradients: 2x3xf32, outputs: 2x3xf32
LogitGrad | x: 2x3xf32, dy: 2x3xf32
SiluGrad FastGeluGrad GeluGradV2 | dy: 2x3xf32, x: 2x3xf32
GeluGrad | dy: 2x3xf32, x: 2x3xf32, y: 2x3xf32
SwishGrad | grad: 2x3xf32, x: 2x3xf32, y: 2x3xf32
MishGrad | grad: 2x3xf32, x: 2x3xf32
PReluGrad | grads: 2x3xf32, features: 2x3xf32, weights: 3xf32
SwiGlu GLU GeGluV2 GeluMul | x: 2x8xf32
SwiGluGrad GLUGrad | y_grad: 2x4xf32, x: 2x8xf32
GeGluGradV2 | dy: 2x4xf32, x: 2x8xf32, gelu: 2x4xf32
SiluMul | x: 2x3xf32, y: 2x3xf32
HardShrink SoftShrink Shrink | input_x: 2x3xf32
Threshold | x: 2x3xf32
ThresholdV2D | x: 2x3xf32; threshold=0.5, value=1.0
ThresholdedRelu LogSigmoid SquaredRelu CeluV2 HardSwishV2 SoftplusV2 Logit FastGeluV2 Inv Dropout \
| x: 2x3xf32
SoftplusV2Grad | input_gradients: 2x3xf32, input_features: 2x3xf32
DropOutDoMask DropOutDoMaskV3 | x: 2x8xf32, mask: 16xu8, keep_prob: 1xf32
DropOutDoMaskV3D | x: 2x8xf32, mask: 16xu8; keep_prob=0.5
SoftmaxV2WithDropOutDoMaskV3D | x: 2x8xf32, mask: 16xu8; keep_prob=0.5
AxpyWithSoftmaxAndDropOutDoMask | x1: 2x8xf32, x2: 2x8xf32, mask: 16xu8; alpha=0.5, \
input_keep_prob=0.5
ScaledMaskedSoftmax | x: 1x2x3x4xf32, mask: 1x1x3x4xi1
MaskedScale | x: 2x3xf32, mask: 2x3xf32; value=0.5
MaskedSoftmaxWithRelPosBias | x: 2x3x4x5x6xf32, atten_mask: 3x5x6xf32, relative_pos_bias: \
4x5x6xf32
""")
BAD = bad(
    """
SqrtGrad RsqrtGrad ReciprocalGrad AsinGrad AcosGrad AtanGrad AsinhGrad AcoshGrad AbsGrad | c1 | y: \
2x3xi32 | y is DT_INT32, expected a floating-point type
SigmoidGrad TanhGrad | c1 | y: 2x3xi32 | y is DT_INT32, expected a floating-point or complex type
SqrtGrad RsqrtGrad ReciprocalGrad AsinGrad AcosGrad AtanGrad AsinhGrad AcoshGrad AbsGrad \
SigmoidGrad TanhGrad | c1_types | y: 2x3xf16 | operands are DT_FLOAT16 and DT_FLOAT, expected one \
element type
SqrtGrad RsqrtGrad ReciprocalGrad AsinGrad AcosGrad AtanGrad AsinhGrad AcoshGrad AbsGrad \
SigmoidGrad TanhGrad | c2 | y: 2x1xf32 | y and dy are 2x1 and 2x3, expected equal ones
InvGrad | c1 | x: 2x3xi32 | x is DT_INT32, expected a floating-point type
InvGrad | c2 | grad: 2x1xf32 | x and grad are 2x3 and 2x1, expected equal ones
SoftmaxGrad | c1 | softmax: 2x3xi32 | softmax is DT_INT32, expected a floating-point type
SoftmaxGrad | c2 | softmax: 2x4xf32 | shapes are 2x4 and 2x3, expected ones that broadcast
SoftmaxGrad | c3 | ; axes=[2] | axes is 2, expected one in [-2, 2)
LogSoftmaxGrad | c1 | grad: 2x3xi32 | grad is DT_INT32, expected a floating-point type
LogSoftmaxGrad | c2 | grad: 2x1xf32 | grad and x are 2x1 and 2x3, expected equal ones
LogSoftmaxGrad | c3 | ; axis=[0, 0] | axis are [0, 0], expected no axis twice
SoftmaxGradExt | c1 | x2: 1xi32 | x2 is DT_INT32, expected a floating-point type
SoftmaxGradExt | c2 | grad: 2x1xf32 | grad and x1 are 2x1 and 2x3, expected equal ones
SoftmaxGradExt | c3 | ; axes=2 | axes is 2, expected one in [-2, 2)
SoftmaxGradExt | c4 | x2: 5x2x3xf32 | grad and result are 2x3 and 5x2x3, expected equal ones
ConfusionSoftmaxGrad | c1 | x: 2x3xi32 | x is DT_INT32, expected a floating-point type
ConfusionSoftmaxGrad | c1_rank | grad: f32, x: f32 | grad is scalar, expected rank 1 or more
ConfusionSoftmaxGrad | c2 | x: 4x2x3xf32 | grad and result are 2x3 and 4x2x3, expected equal ones
ConfusionMulGrad | c1 | input1: 2x3xf16 | operands are DT_FLOAT and DT_FLOAT16, expected one \
element type
ConfusionMulGrad | c2 | input2: 2x1xf32 | input0 and input2 are 2x3 and 2x1, expected equal ones
ConfusionMulGrad | c3 | ; axes=[2] | axes is 2, expected one in [-2, 2)
BiasAddGrad | c1 | ; data_format="ND" | data_format is 'ND', expected NHWC, NDHWC, NCHW or NCDHW
BiasAddGrad | c2 | x: 3xf32 | x is 3, expected rank 2 or more
MaximumGrad MinimumGrad | c1 | x2: 3xf16 | operands are DT_FLOAT and DT_FLOAT16, expected one \
element type
MaximumGrad MinimumGrad | c2 | grads: 3xf32 | grads and operands are 3 and 2x3, expected equal \
ones
ReluGrad | c1 | features: 2x3xf16 | operands are DT_FLOAT and DT_FLOAT16, expected one element \
type
ReluGrad | c2 | features: 2x4xf32 | shapes are 2x3 and 2x4, expected ones that broadcast
Relu6Grad LeakyReluGrad SoftplusGrad SoftsignGrad HardShrinkGrad ThresholdGradV2D | c1 | features: \
2x3xi32 | features is DT_INT32, expected a floating-point type
Relu6Grad LeakyReluGrad SoftplusGrad SoftsignGrad HardShrinkGrad ThresholdGradV2D | c2 | features: \
2x1xf32 | gradients and features are 2x3 and 2x1, expected equal ones
LogSigmoidGrad | c2 | features: 2x1xf32 | grads and features are 2x3 and 2x1, expected equal ones
LogSigmoidGrad | c1 | features: 2x3xf16 | operands are DT_FLOAT and DT_FLOAT16, expected one \
element type
SoftShrinkGrad HardSigmoidGrad | c1 | input_x: 2x3xi32 | input_x is DT_INT32, expected a \
floating-point type
SoftShrinkGrad | c2 | input_x: 2x1xf32 | input_grad and input_x are 2x3 and 2x1, expected equal \
ones
HardSigmoidGrad | c2 | input_x: 2x1xf32 | grads and input_x are 2x3 and 2x1, expected equal ones
HardSwishGrad HardtanhGrad SwishGrad MishGrad | c1 | grad: 2x3xi32 | grad is DT_INT32, expected a \
floating-point type
HardSwishGrad SwishGrad MishGrad | c2 | grad: 2x1xf32 | grad and x are 2x1 and 2x3, expected equal \
ones
HardtanhGrad | c2 | grad: 2x1xf32 | result and grad are 2x3 and 2x1, expected equal ones
MishGrad | c2_tanh | tanhx: 2x1xf32 | grad and tanhx are 2x3 and 2x1, expected equal ones
EluGrad EluGradV2 PReluGrad | c1 | grads: 2x3xi32 | grads is DT_INT32, expected a floating-point \
type
EluGrad EluGradV2 | c2 | grads: 2x1xf32 | grads and activations are 2x1 and 2x3, expected equal \
ones
PReluGrad | c2 | grads: 2x1xf32 | grads and features are 2x1 and 2x3, expected equal ones
SeluGrad | c1 | outputs: 2x3xi32 | outputs is DT_INT32, expected a floating-point type
SeluGrad | c2 | outputs: 2x1xf32 | gradients and outputs are 2x3 and 2x1, expected equal ones
LogitGrad SiluGrad FastGeluGrad GeluGradV2 GeluGrad | c1 | x: 2x3xi32 | x is DT_INT32, expected a \
floating-point type
LogitGrad | c2 | x: 2x1xf32 | x and dy are 2x1 and 2x3, expected equal ones
SiluGrad FastGeluGrad GeluGradV2 GeluGrad | c2 | x: 2x1xf32 | dy and x are 2x3 and 2x1, expected \
equal ones
GeluGradV2 | c3 | ; approximate="erf" | approximate is 'erf', expected none or tanh
PReluGrad | c3 | weights: 4xf32 | weights is 4, expected one number, one per channel or 3
PReluGrad | c3_rank | weights: 2x3xf32 | weights is 2x3, expected rank 1 or less
SwiGlu GLU GeGluV2 GeluMul SwiGluGrad GLUGrad GeGluGradV2 | c1 | x: 2x8xi32 | x is DT_INT32, \
expected a floating-point type
SwiGlu GLU GeGluV2 SwiGluGrad GLUGrad GeGluGradV2 | c2 | ; dim=2 | dim is 2, expected one in [-2, \
2)
SwiGlu | c2_scalar | x: f32 | x is scalar, expected rank 1 or more
GeluMul | c2 | ; approximate="erf" | approximate is 'erf', expected none or tanh
SwiGlu GLU GeGluV2 GeluMul SwiGluGrad GLUGrad GeGluGradV2 | c3 | x: 2x7xf32 | x is 2x7, expected \
an even dimension 1
GeGluV2 | c4 | ; approximate=2 | approximate is 2, expected 0 or 1
SwiGluGrad GLUGrad | c4 | y_grad: 2x8xf32 | half and y_grad are 2x4 and 2x8, expected equal ones
GeGluGradV2 | c4 | dy: 2x8xf32 | half and dy are 2x4 and 2x8, expected equal ones
GeGluGradV2 | c5 | ; approximate=2 | approximate is 2, expected 0 or 1
SiluMul | c1 | x: 2x3xi32 | x is DT_INT32, expected a floating-point type
SiluMul | c2 | x: 2x1xf32 | x and y are 2x1 and 2x3, expected equal ones
HardShrink SoftShrink Shrink | c1 | input_x: 2x3xi32 | input_x is DT_INT32, expected a \
floating-point type
ThresholdedRelu LogSigmoid SquaredRelu CeluV2 HardSwishV2 SoftplusV2 Logit FastGeluV2 Inv Dropout \
| c1 | x: 2x3xi32 | x is DT_INT32, expected a floating-point type
CeluV2 | c2 | ; alpha=0.0 | alpha is 0, expected another number
SoftplusV2Grad | c1 | input_features: 2x3xi32 | input_features is DT_INT32, expected a \
floating-point type
SoftplusV2Grad | c2 | input_features: 2x1xf32 | input_gradients and input_features are 2x3 and \
2x1, expected equal ones
DropOutDoMask DropOutDoMaskV3 DropOutDoMaskV3D SoftmaxV2WithDropOutDoMaskV3D | c1 | x: 2x8xi32 | x \
is DT_INT32, expected a floating-point type
DropOutDoMask DropOutDoMaskV3 | c1_types | keep_prob: 1xf16 | operands are DT_FLOAT and \
DT_FLOAT16, expected one element type
DropOutDoMask DropOutDoMaskV3 | c2 | keep_prob: 2xf32 | keep_prob is 2, expected one element
DropOutDoMask | c3 | mask: 16xi32 | mask is DT_INT32, expected DT_UINT8
DropOutDoMask | c3_rank | mask: 4x4xu8 | mask is 4x4, expected rank 1
DropOutDoMask | c4 | mask: 1xu8 | mask has 8 bits, expected 16 or more
DropOutDoMaskV3 | c3 | mask: 16xi32 | mask is DT_INT32, expected an 8-bit integer or DT_BOOL
DropOutDoMaskV3 | c4 | mask: 15xu8 | mask has 15 elements, expected 16 or more
DropOutDoMaskV3D | c2 | mask: 16xi32 | mask is DT_INT32, expected an 8-bit integer or DT_BOOL
DropOutDoMaskV3D | c3 | mask: 15xu8 | mask has 15 elements, expected 16 or more
SoftmaxV2WithDropOutDoMaskV3D | c2 | ; axes=[2] | axes is 2, expected one in [-2, 2)
SoftmaxV2WithDropOutDoMaskV3D | c3 | mask: 16xi32 | mask is DT_INT32, expected an 8-bit integer or \
DT_BOOL
SoftmaxV2WithDropOutDoMaskV3D | c4 | mask: 15xu8 | mask has 15 elements, expected 16 or more
AxpyWithSoftmaxAndDropOutDoMask | c1 | x1: 2x8xi32 | x1 is DT_INT32, expected a floating-point \
type
AxpyWithSoftmaxAndDropOutDoMask | c1_types | x1: 2x8xf16 | operands are DT_FLOAT16 and DT_FLOAT, \
expected one element type
AxpyWithSoftmaxAndDropOutDoMask | c2 | x2: 2x1xf32 | x1 and x2 are 2x8 and 2x1, expected equal \
ones
AxpyWithSoftmaxAndDropOutDoMask | c3 | ; axis=[2] | axis is 2, expected one in [-2, 2)
AxpyWithSoftmaxAndDropOutDoMask | c4 | mask: 16xf32 | mask is DT_FLOAT, expected an 8-bit integer \
or DT_BOOL
AxpyWithSoftmaxAndDropOutDoMask | c5 | mask: 15xu8 | mask has 15 elements, expected 16 or more
ScaledMaskedSoftmax | c1 | x: 1x2x3x4xi32 | x is DT_INT32, expected a floating-point type
ScaledMaskedSoftmax | c2 | x: 2x3x4xf32 | x is 2x3x4, expected rank 4
ScaledMaskedSoftmax | c2_mask | mask: 5x1x3x4xi1 | mask is 5x1x3x4, expected one that broadcasts \
to 1x2x3x4
ScaledMaskedSoftmax | c3 | mask: 1x1x3x4xf32 | mask is DT_FLOAT, expected DT_BOOL
ScaledMaskedSoftmax | c4 | mask: - | mask is missing, expected it without fixed_triu_mask
ScaledMaskedSoftmax | c4_both | ; fixed_triu_mask=True | mask is given, expected none with \
fixed_triu_mask
MaskedScale | c1 | x: 2x3xi32 | x is DT_INT32, expected a floating-point type
MaskedScale | c2 | mask: 2x1xf32 | x and mask are 2x3 and 2x1, expected equal ones
MaskedSoftmaxWithRelPosBias | c1 | x: 2x3x4x5x6xi32 | x is DT_INT32, expected a floating-point \
type
MaskedSoftmaxWithRelPosBias | c1_types | x: 2x3x4x5x6xf16 | operands are DT_FLOAT16 and DT_FLOAT, \
expected one element type
MaskedSoftmaxWithRelPosBias | c2 | x: 4x5x6xf32 | x is 4x5x6, expected rank 4 or 5
MaskedSoftmaxWithRelPosBias | c3 | atten_mask: 2x5x6xf32 | atten_mask is 2x5x6, expected 3x5x6
MaskedSoftmaxWithRelPosBias | c4 | relative_pos_bias: 3x5x6xf32 | relative_pos_bias is 3x5x6, \
expected 4x5x6
""",
    snake,
)


@pytest.mark.parametrize("op_type", GOOD)
def test_accepted(op_type):
    build(op_type, *GOOD[op_type])


@pytest.mark.parametrize("name", BAD)
def test_refused(name):
    op_type, operands, attrs, message = BAD[name]
    plain, defaults = GOOD[op_type]
    with pytest.raises(VerifyException) as caught:
        build(op_type, plain | operands, defaults | attrs)
    assert str(caught.value) == message
