"""Makes tiny models with random weights in the folder that is named, and prints what their libraries say of texts.

    tiny.py FOLDER

tiny, of sentence-transformers with a few words; masked, a BERT with a head and letters; bpe, of
sentence-transformers over bytes; splade and twice, of its SparseEncoder, and free-KIND with a table for queries; of PyLate, where that is installed, colbert, attending (two Dense modules with
residuals, queries attend to what fills them) and stanford (a checkpoint as ColBERT's first authors write it).
"""

import json
import os
import sys

import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from tokenizers import ByteLevelBPETokenizer
from tokenizers.processors import RobertaProcessing
from transformers import AutoModelForMaskedLM, AutoTokenizer, BertConfig, BertForMaskedLM, BertModel, BertTokenizerFast, PreTrainedTokenizerFast, RobertaConfig, RobertaModel

try:
    from pylate import models
except ImportError:
    models = None

folder = sys.argv[1]
TEXTS = ["the herons", "  boats on the river\n", "A Heron."]


def at(name):
    os.makedirs(os.path.join(folder, name), exist_ok=True)
    return os.path.join(folder, name)


def bert(name, words, kind, **size):
    with open(os.path.join(at(name), "vocab.txt"), "w") as f:
        f.write("\n".join(words) + "\n")
    torch.manual_seed(1)
    kind(BertConfig(vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, **size)).save_pretrained(at(name))
    BertTokenizerFast(os.path.join(at(name), "vocab.txt"), model_max_length=64).save_pretrained(at(name))


marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
bert("bert", marks + ["query", ":", "boats", "river", "on", "the", "heron", "##s", "a"], BertModel)
model = SentenceTransformer(modules=[Transformer(at("bert"), max_seq_length=8), Pooling(32)], prompts={"query": "query: ", "document": ""}, device="cpu")
model.save(at("tiny"))

letters = [chr(c) for c in range(33, 127)]
bert("masked", marks + letters + ["##" + x for x in letters] + ["the", "heron", "word"], BertForMaskedLM, max_position_embeddings=64, initializer_range=0.2)

trained = ByteLevelBPETokenizer()
trained.train_from_iterator(["the herons stand on the river", "boats on the river", "a word word word"] * 9, vocab_size=320, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
trained.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
torch.manual_seed(2)
RobertaModel(RobertaConfig(vocab_size=trained.get_vocab_size(), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=66, initializer_range=0.2)).save_pretrained(at("roberta"))
PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, model_max_length=64, bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>",
                        pad_token="<pad>", unk_token="<unk>", mask_token="<mask>").save_pretrained(at("roberta"))
bpe = SentenceTransformer(modules=[Transformer(at("roberta"), max_seq_length=64), Pooling(32)], prompts={"query": "find "}, device="cpu")
bpe.save(at("bpe"))

said = {"bpe": {"query": bpe.encode(TEXTS, prompt_name="query").tolist(), "passage": bpe.encode(TEXTS).tolist()}}
head, tokenizer = AutoModelForMaskedLM.from_pretrained(at("masked")).eval(), AutoTokenizer.from_pretrained(at("masked"))
with torch.no_grad():  # one by one: without padding
    out = [head(**tokenizer(t, return_tensors="pt"), output_hidden_states=True) for t in TEXTS]
said["masked"] = {"passage": [o.hidden_states[-1][0].mean(0).tolist() for o in out], "scores": [o.logits[0, 0].tolist() for o in out]}
from sentence_transformers import SparseEncoder
from sentence_transformers.models import Router
from sentence_transformers.sparse_encoder.models import MLMTransformer, SpladePooling, SparseStaticEmbedding

for name, activation in {"splade": "relu", "twice": "log1p_relu"}.items():
    sparse = SparseEncoder(modules=[MLMTransformer(at("masked"), max_seq_length=20), SpladePooling("max", activation_function=activation)], device="cpu")
    sparse.save_pretrained(at(name))
    said[name] = {"weights": sparse.encode_document(TEXTS, convert_to_tensor=True).to_dense().tolist()}
# The heads of other families, and queries by a table.
size = dict(vocab_size=tokenizer.vocab_size, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=66, initializer_range=0.4)
for kind, more in {"DistilBert": dict(dim=32, n_layers=2, n_heads=2, hidden_dim=64), "Roberta": dict(pad_token_id=0), "MPNet": dict(pad_token_id=1), "ModernBert": dict(pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3)}.items():
    masked = at("masked-" + kind)
    torch.manual_seed(3)
    getattr(transformers, kind + "ForMaskedLM")(getattr(transformers, kind + "Config")(**size | more)).save_pretrained(masked)
    tokenizer.save_pretrained(masked)
    table = SparseStaticEmbedding(tokenizer, weight=5 * torch.rand(tokenizer.vocab_size), frozen=True)
    router = Router.for_query_document([table], [MLMTransformer(masked, max_seq_length=40), SpladePooling("max")])
    sparse = SparseEncoder(modules=[router], device="cpu")
    sparse.save_pretrained(at("free-" + kind))
    said["free-" + kind] = {"weights": sparse.encode_document(TEXTS, convert_to_tensor=True).to_dense().tolist(), "queries": sparse.encode_query(TEXTS, convert_to_tensor=True).to_dense().tolist()}
if models:
    colbert = models.ColBERT(at("masked"), embedding_size=16, query_length=24, document_length=40, device="cpu")
    colbert.save(at("colbert"))
    layers = [models.Dense(32, 32, bias=True, activation_function=torch.nn.GELU(), use_residual=True), models.Dense(32, 16, bias=False, use_residual=True)]
    attending = models.ColBERT(modules=[Transformer(at("masked")), *layers], query_length=12, document_length=12, attend_to_expansion_tokens=True, skiplist_words=["##o"], query_prefix="[Q]", document_prefix="", device="cpu")
    attending.save(at("attending"))
    bert("stanford", marks + ["[unused0]", "[unused1]", "the", "heron", "##s", "a", "."], BertModel)
    from safetensors.torch import load_file, save_file

    weights = {"bert." + k: v for k, v in load_file(at("stanford") + "/model.safetensors").items()}
    save_file(weights | {"linear.weight": torch.randn(16, 32)}, at("stanford") + "/model.safetensors", metadata={"format": "pt"})
    with open(at("stanford") + "/config.json") as f:
        config = json.load(f) | {"architectures": ["HF_ColBERT"]}
    for name, what in {"config.json": config, "artifact.metadata": {"query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_maxlen": 9, "doc_maxlen": 20}}.items():
        with open(os.path.join(at("stanford"), name), "w") as f:
            json.dump(what, f)
    for name, m in {"colbert": colbert, "attending": attending, "stanford": models.ColBERT(at("stanford"), device="cpu")}.items():
        # Without words of the skip list PyLate returns the states of all tokens of a passage; of a query those of [MASK] stand last.
        said[name] = {role: [x.ravel().tolist() for x in m.encode(TEXTS, is_query=role == "query", show_progress_bar=False)] for role in ("query", "passage")}
json.dump({"texts": TEXTS, "said": said}, sys.stdout)
