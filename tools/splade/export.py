"""Write a masked-language model that was trained as SPLADE as a folder for lexsem: python export.py MODEL OUT

MODEL is a folder of transformers (config.json, model.safetensors, tokenizer.json). OUT gets model.onnx, whose output
logits [batch, vocabulary] are the largest over the text's tokens, and tokenizer.json; log(1 + ReLU(logits)), which
lexsem's variant mlm takes of them, are SPLADE's weights (Formal et al. 2021, max pooling). Dense vectors of the folder
are means of the states, which such a model was not trained for.
"""

import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoModelForMaskedLM


class Pooled(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids, output_hidden_states=True)
        # Padding weighs 0, which is the least that ReLU leaves.
        return out.hidden_states[-1], (out.logits * attention_mask.unsqueeze(-1)).amax(1)


def export(model, out):
    model, out = Path(model), Path(out)
    out.mkdir(parents=True, exist_ok=True)
    net = AutoModelForMaskedLM.from_pretrained(model, attn_implementation="eager").eval()
    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = tuple(torch.ones(2, 5, dtype=torch.long) for _ in names)
    axes = {n: {0: "batch", 1: "tokens"} for n in [*names, "last_hidden_state"]} | {"logits": {0: "batch"}}
    with torch.no_grad():
        torch.onnx.export(Pooled(net), example, out / "model.onnx", input_names=names, output_names=["last_hidden_state", "logits"], dynamic_axes=axes, opset_version=17, dynamo=False)
    shutil.copy(model / "tokenizer.json", out / "tokenizer.json")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    export(*sys.argv[1:])
