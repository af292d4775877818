"""The online scenario: torch.compile with user passes, checked against eager torch.

    ASCEND_GE_PY_PASS_PATH=examples/passes/matmul_add_gemm.py python examples/torch_forward.py

Needs the `torch` extra. On a device the same pass files run when its torch backend compiles.
"""

import logging

import torch


class Perceptron(torch.nn.Module):
    """Two layers; products and sums stand apart, so that a pass has something to fuse."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Parameter(torch.randn(8, 16) / 3)
        self.second = torch.nn.Parameter(torch.randn(16, 4) / 4)
        self.rows = torch.nn.Parameter(torch.randn(2, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(torch.matmul(x, self.first) + self.rows)
        return torch.softmax(torch.matmul(hidden, self.second), -1)


def main() -> None:
    """Run the model both ways; tell what the passes did and how far the results are apart."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(0)
    model, x = Perceptron().eval(), torch.randn(2, 8)
    compiled = torch.compile(model, backend="ge_xdsl")
    with torch.no_grad():
        difference = (compiled(x) - model(x)).abs().max().item()
    print(f"largest difference from eager torch: {difference:.1e}")
    if difference > 1e-5:
        raise SystemExit("the compiled model gives other numbers")


if __name__ == "__main__":
    main()
