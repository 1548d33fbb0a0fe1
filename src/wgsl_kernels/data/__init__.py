"""Data for training: arrays in batches."""

from wgsl_kernels.data.batches import Batches as Batches
from wgsl_kernels.data.batches import batches as batches
