"""Which of our ops is which of TensorFlow.js's: for the aliases and for the docs.

Keys are TensorFlow.js's public paths without ``tf.``; an op that it does not publish stands under
its own name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_OURS = """
    abs acos acosh add addN:add_n all any argMax:argmax argMin:argmin asin asinh atan atan2
    atanh avgPool:avg_pool avgPool3d:avg_pool3d basicLSTMCell:basic_lstm_cell
    batchNorm:batch_norm batchNorm2d:batch_norm batchNorm3d:batch_norm batchNorm4d:batch_norm
    batchToSpaceND:batch_to_space_nd bincount bitwiseAnd:bitwise_and
    broadcastArgs:broadcast_args broadcastTo:broadcast_to browser.draw:draw
    browser.fromPixels:from_pixels browser.toPixels:draw cast:astype ceil clipByValue:clip clone
    complex concat concat1d:concat concat2d:concat concat3d:concat concat4d:concat
    confusionMatrix:confusion_matrix conv1d conv2d conv2dTranspose:conv2d_transpose conv3d
    conv3dTranspose:conv3d_transpose cos cosh cosineWindow:cosine_window cumprod:cumulative_prod
    cumsum:cumulative_sum denseBincount:dense_bincount depthToSpace:depth_to_space
    depthwiseConv2d:depthwise_conv2d diag dilation2d div:divide divNoNan:div_no_nan dot dropout
    einsum elu enclosingPowerOfTwo:enclosing_power_of_two ensureShape:ensure_shape equal erf
    euclideanNorm:euclidean_norm exp expandDims:expand_dims expm1 eye fft fill:full floor
    floorDiv:floor_divide fused.conv2d:fused_conv2d fused.depthwiseConv2d:fused_depthwise_conv2d
    fused.matMul:fused_mat_mul gather:take gatherND:gather_nd greater greaterEqual:greater_equal
    ifft imag image.cropAndResize:crop_and_resize image.flipLeftRight:flip_left_right
    image.grayscaleToRGB:grayscale_to_rgb image.nonMaxSuppression:non_max_suppression
    image.nonMaxSuppressionPadded:non_max_suppression_padded
    image.nonMaxSuppressionWithScore:non_max_suppression_with_score
    image.resizeBilinear:resize_bilinear image.resizeNearestNeighbor:resize_nearest_neighbor
    image.rgbToGrayscale:rgb_to_grayscale image.rotateWithOffset:rotate_with_offset
    image.threshold:threshold image.transform:transform irfft isFinite:isfinite isInf:isinf
    isNaN:isnan leakyRelu:leaky_relu less lessEqual:less_equal linalg.bandPart:band_part
    linalg.gramSchmidt:gram_schmidt linalg.qr:linalg.qr linspace
    localResponseNormalization:local_response_normalization log log1p logicalAnd:logical_and
    logicalNot:logical_not logicalOr:logical_or logicalXor:logical_xor logSigmoid:log_sigmoid
    logSoftmax:log_softmax logSumExp:logsumexp losses.absoluteDifference:absolute_difference
    losses.computeWeightedLoss:compute_weighted_loss losses.cosineDistance:cosine_distance
    losses.hingeLoss:hinge_loss losses.huberLoss:huber_loss losses.logLoss:log_loss
    losses.meanSquaredError:mean_squared_error losses.sigmoidCrossEntropy:sigmoid_cross_entropy
    losses.softmaxCrossEntropy:softmax_cross_entropy lowerBound:lower_bound matMul:matmul max
    maximum maxPool:max_pool maxPool3d:max_pool3d maxPoolWithArgmax:max_pool_with_argmax mean
    meshgrid min minimum mirrorPad:mirror_pad mod:remainder moments movingAverage:moving_average
    mul:multiply multinomial multiRNNCell:multi_rnn_cell neg:negative norm notEqual:not_equal
    oneHot:one_hot ones onesLike:ones_like outerProduct:outer pad pad1d:pad pad2d:pad pad3d:pad
    pad4d:pad pool pow prelu prod raggedGather:ragged_gather raggedRange:ragged_range
    raggedTensorToTensor:ragged_tensor_to_tensor randomGamma:random_gamma
    randomNormal:random_normal randomStandardNormal:random_standard_normal
    randomUniform:random_uniform randomUniformInt:random_uniform_int range:arange real
    reciprocal relu relu6 reshape reverse:flip reverse1d:flip reverse2d:flip reverse3d:flip
    reverse4d:flip rfft round rsqrt scalar:tensor scatterND:scatter_nd searchSorted:searchsorted
    selu separableConv2d:separable_conv2d sigmoid sign signal.frame:frame
    signal.hammingWindow:hamming_window signal.hannWindow:hann_window signal.stft:stft sin sinh
    slice slice1d:slice slice2d:slice slice3d:slice slice4d:slice softmax softplus
    spaceToBatchND:space_to_batch_nd sparse.sparseFillEmptyRows:sparse_fill_empty_rows
    sparse.sparseReshape:sparse_reshape sparse.sparseSegmentMean:sparse_segment_mean
    sparse.sparseSegmentSum:sparse_segment_sum sparseToDense:sparse_to_dense spectral.fft:fft
    spectral.ifft:ifft spectral.irfft:irfft spectral.rfft:rfft split sqrt square
    squaredDifference:squared_difference squeeze stack step stridedSlice:strided_slice
    string.staticRegexReplace:static_regex_replace string.stringNGrams:string_n_grams
    string.stringSplit:string_split string.stringToHashBucketFast:string_to_hash_bucket_fast
    sub:subtract sum tan tanh tensor tensor1d:tensor tensor2d:tensor tensor3d:tensor
    tensor4d:tensor tensor5d:tensor tensor6d:tensor tensorScatterUpdate:tensor_scatter_update
    tile topk transpose:permute_dims truncatedNormal:truncated_normal unique
    unsortedSegmentSum:unsorted_segment_sum unstack upperBound:upper_bound variable where zeros
    zerosLike:zeros_like
"""


def _pairs(text: str) -> dict[str, str]:
    """Return the table that ``theirs:ours`` pairs make; a lone word stands for both."""
    rows = (entry.partition(":") for entry in text.split())
    return {theirs: ours or theirs for theirs, _, ours in rows}


TFJS_NAMES: Mapping[str, str] = MappingProxyType(_pairs(_OURS))
"""TensorFlow.js's name of each op that we have, and ours."""

NOT_OURS: Mapping[str, str] = MappingProxyType(
    {
        "buffer": "build a NumPy array and pass it to tensor",
        "conv2DBackpropFilter": 'run_kernel("Conv2DBackpropFilter", ...)',
        "conv2DBackpropInput": 'run_kernel("Conv2DBackpropInput", ...)',
        "depthwiseConv2dNativeBackpropFilter": (
            'run_kernel("DepthwiseConv2dNativeBackpropFilter", ...)'
        ),
        "depthwiseConv2dNativeBackpropInput": (
            'run_kernel("DepthwiseConv2dNativeBackpropInput", ...)'
        ),
        "op": "a Python function needs no wrapper",
        "print": "Python's own print shows a tensor's values",
        "rand": "draw the values with NumPy and pass them to tensor",
    }
)
"""TensorFlow.js's name of each other op, and what stands in its place."""


def snake_case(name: str) -> str:
    """Return a name of TensorFlow.js as Python writes it: ``addN`` gives ``add_n``."""
    name = re.sub(r"(?<=\d)D(?=[A-Z]|$)", "d", name).replace("NaN", "Nan")
    return re.sub(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def public_names() -> dict[str, str]:
    """Return TensorFlow.js's name of each op in snake_case, and ours."""
    return {snake_case(theirs.rpartition(".")[2]): ours for theirs, ours in TFJS_NAMES.items()}


@lru_cache(maxsize=1)
def aliases() -> dict[str, str]:
    """Return the further names under which ops are public: TensorFlow.js's own, in snake_case.

    A name in a namespace that is also one outside (``fused.conv2d``) is none.
    """
    found: dict[str, str] = {}
    for theirs, ours in TFJS_NAMES.items():
        space, _, last = theirs.rpartition(".")
        name = snake_case(last)
        if name != ours.rpartition(".")[2] and not (space and last in TFJS_NAMES):
            found[name] = ours
    return found
