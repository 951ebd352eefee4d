"""python -m pytest tools/splade: what is exported is the largest logit of each token of the vocabulary, whatever the padding."""

import pytest

torch = pytest.importorskip("torch", reason="NOT TESTED: there is no torch")
transformers = pytest.importorskip("transformers", reason="NOT TESTED: there is no transformers")

from export import Pooled


def test_pooled():
    torch.manual_seed(3)
    config = transformers.BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12, max_position_embeddings=16, initializer_range=0.8)
    net = transformers.BertForMaskedLM(config).eval()
    ids = torch.tensor([[2, 7, 9, 3]])
    with torch.no_grad():
        want = net(input_ids=ids).logits[0].max(0).values.clamp(min=0)
        for padding in (0, 3):
            long = torch.nn.functional.pad(ids, (0, padding))
            mask = torch.tensor([[1] * 4 + [0] * padding])
            states, got = Pooled(net)(long, mask, torch.zeros_like(long))
            assert states.shape == (1, 4 + padding, 8)
            assert torch.allclose(got[0].clamp(min=0), want, atol=1e-5)
    assert (want > 0).any() and (want == 0).any()
