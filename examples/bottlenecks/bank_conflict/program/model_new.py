import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[1], x.shape[0], dtype=x.dtype, device=x.device)
        cuda_extension.transpose(x, y, x.shape[0], x.shape[1])
        return y
