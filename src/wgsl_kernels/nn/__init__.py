"""Layers as plain trees: dataclasses of variables that are called; a model is any tree of them.

There is no base class and no registry: a layer is a dataclass with ``__call__``, and so is a user's
own. `wgsl_kernels.save`, `load`, optimizers and derivatives take trees of layers as they take any
other tree.
"""

from wgsl_kernels.engine.registry.public import publish as _publish
from wgsl_kernels.nn.convolution import Conv as Conv
from wgsl_kernels.nn.convolution import ConvTranspose as ConvTranspose
from wgsl_kernels.nn.convolution import conv as conv
from wgsl_kernels.nn.convolution import conv_transpose as conv_transpose
from wgsl_kernels.nn.convolution import depthwise_conv as depthwise_conv
from wgsl_kernels.nn.graph import Graph as Graph
from wgsl_kernels.nn.initializers import constant as constant
from wgsl_kernels.nn.initializers import glorot_normal as glorot_normal
from wgsl_kernels.nn.initializers import glorot_uniform as glorot_uniform
from wgsl_kernels.nn.initializers import he_normal as he_normal
from wgsl_kernels.nn.initializers import he_uniform as he_uniform
from wgsl_kernels.nn.initializers import lecun_normal as lecun_normal
from wgsl_kernels.nn.initializers import lecun_uniform as lecun_uniform
from wgsl_kernels.nn.initializers import orthogonal as orthogonal
from wgsl_kernels.nn.multi_head import KeyValueCache as KeyValueCache
from wgsl_kernels.nn.multi_head import MultiHeadAttention as MultiHeadAttention
from wgsl_kernels.nn.multi_head import multi_head_attention as multi_head_attention
from wgsl_kernels.nn.normalization import BatchNorm as BatchNorm
from wgsl_kernels.nn.normalization import GroupNorm as GroupNorm
from wgsl_kernels.nn.normalization import LayerNorm as LayerNorm
from wgsl_kernels.nn.normalization import RMSNorm as RMSNorm
from wgsl_kernels.nn.normalization import batch_norm as batch_norm
from wgsl_kernels.nn.normalization import group_norm as group_norm
from wgsl_kernels.nn.normalization import layer_norm as layer_norm
from wgsl_kernels.nn.normalization import rms_norm as rms_norm
from wgsl_kernels.nn.projection import Dense as Dense
from wgsl_kernels.nn.projection import Embedding as Embedding
from wgsl_kernels.nn.projection import dense as dense
from wgsl_kernels.nn.projection import embedding as embedding
from wgsl_kernels.nn.recurrent import GRU as GRU
from wgsl_kernels.nn.recurrent import LSTM as LSTM
from wgsl_kernels.nn.recurrent import gru as gru
from wgsl_kernels.nn.recurrent import lstm as lstm
from wgsl_kernels.nn.structure import Dropout as Dropout
from wgsl_kernels.nn.structure import Sequential as Sequential
from wgsl_kernels.nn.structure import dropout as dropout
from wgsl_kernels.nn.structure import sequential as sequential
from wgsl_kernels.nn.summary import LayerSummary as LayerSummary
from wgsl_kernels.nn.summary import Summary as Summary

_publish(__name__)
