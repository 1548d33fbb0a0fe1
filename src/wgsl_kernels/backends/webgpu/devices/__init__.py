"""A device: its adapter, memory, pipelines, batches of dispatches and clocks."""
