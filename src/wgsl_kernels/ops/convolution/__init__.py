"""Convolutions of signals, images and volumes."""
