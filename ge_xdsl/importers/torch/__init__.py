"""`torch.export` programs -> IR."""
