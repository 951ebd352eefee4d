"""Writes the files that matfile and the loader of Stanford Cars are tested on, as SciPy writes them.

    pip install scipy numpy && python record.py
"""

import numpy as np
from scipy.io import savemat


def structs(**fields):
    n = len(next(iter(fields.values())))
    a = np.empty((1, n), dtype=[(k, object) for k in fields])
    for k, v in fields.items():
        for i, x in enumerate(v):
            a[0, i][k] = x
    return a


names = np.empty((1, 3), object)
names[0, :] = ["AM General Hummer SUV 2000", "Škoda Octavia 2011", "smart fortwo 2012"]
box = dict(bbox_x1=[1, 2, 3], bbox_y1=[300, 70000, 5], bbox_x2=[1, 2, 3], bbox_y2=[4, 5, 6])
for packed, name in [(True, "packed.mat"), (False, "plain.mat")]:
    savemat(name, {"numbers": np.array([[1.5, -2], [3e9, 0.25]]), "small": np.array([[-3, 4]], np.int8), "logical": np.array([[True, False]]),
                   "text": "Škoda", "none": np.zeros((0, 0)), "class_names": names, "annotations": structs(**box, fname=["00001.jpg", "00002.jpg", "00003.jpg"], **{"class": [2, 1, 2]})},
            do_compression=packed)
savemat("cars_train_annos.mat", {"annotations": structs(**box, **{"class": [2, 1, 2]}, fname=["00001.jpg", "00002.jpg", "00003.jpg"])}, do_compression=True)
savemat("cars_test_annos_withlabels.mat", {"annotations": structs(bbox_x1=[1, 2], **{"class": [1, 3]}, fname=["00001.jpg", "00002.jpg"])}, do_compression=True)
savemat("cars_meta.mat", {"class_names": names}, do_compression=True)
savemat("cars_annos.mat", {"annotations": structs(relative_im_path=["car_ims/000001.jpg", "car_ims/000002.jpg", "car_ims/000003.jpg"], **box, **{"class": [3, 1, 3], "test": [0, 1, 1]}), "class_names": names}, do_compression=True)
savemat("complex.mat", {"z": np.array([[1 + 2j]])})
