import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cuda_extension.scale_shift(x, y, x.shape[0], x.shape[1])
        return y
