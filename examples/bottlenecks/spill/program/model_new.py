import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cuda_extension.softmax(x, y, x.shape[1])
        return y
