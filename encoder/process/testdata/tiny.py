"""Makes a tiny model of sentence-transformers with random weights in the folder that is named."""

import os
import sys

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast

folder = sys.argv[1]
bert = os.path.join(folder, "bert")
os.makedirs(bert)
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "query", ":", "boats", "river", "on", "the", "heron", "##s", "a"]
with open(os.path.join(bert, "vocab.txt"), "w") as f:
    f.write("\n".join(words) + "\n")
torch.manual_seed(1)
BertModel(BertConfig(vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)).save_pretrained(bert)
BertTokenizerFast(os.path.join(bert, "vocab.txt")).save_pretrained(bert)
model = SentenceTransformer(modules=[Transformer(bert, max_seq_length=8), Pooling(32)], prompts={"query": "query: ", "document": ""}, device="cpu")
model.save(os.path.join(folder, "tiny"))
