"""Metrics that accumulate over batches: dataclasses of variables, as layers are.

Each has ``update``, which adds a batch on the device and reads nothing, ``result``, a tensor, and
``reset``. There is no base class. Weights multiply what is counted: those that
``wk.data.batches(…, pad_last=True)`` gives leave out rows that were filled in. Sums are float32, in
which counts are exact up to 16,777,216.
"""

from wgsl_kernels.engine.registry.public import publish as _publish
from wgsl_kernels.metrics.averages import Mean as Mean
from wgsl_kernels.metrics.averages import mean as mean
from wgsl_kernels.metrics.binary import AUC as AUC
from wgsl_kernels.metrics.binary import F1Score as F1Score
from wgsl_kernels.metrics.binary import Precision as Precision
from wgsl_kernels.metrics.binary import Recall as Recall
from wgsl_kernels.metrics.binary import auc as auc
from wgsl_kernels.metrics.binary import f1_score as f1_score
from wgsl_kernels.metrics.binary import precision as precision
from wgsl_kernels.metrics.binary import recall as recall
from wgsl_kernels.metrics.classes import Accuracy as Accuracy
from wgsl_kernels.metrics.classes import ConfusionMatrix as ConfusionMatrix
from wgsl_kernels.metrics.classes import TopKAccuracy as TopKAccuracy
from wgsl_kernels.metrics.classes import accuracy as accuracy
from wgsl_kernels.metrics.classes import confusion_matrix as confusion_matrix
from wgsl_kernels.metrics.classes import top_k_accuracy as top_k_accuracy

_publish(__name__)
