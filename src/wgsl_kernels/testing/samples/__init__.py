"""Samples: facts about kernels from which suites are driven, a module per family."""
