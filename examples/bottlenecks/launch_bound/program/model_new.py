import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cuda_extension.steps(x, y, x.numel(), 48)
        return y
