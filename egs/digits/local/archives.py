"""A data set's and a network output's files, as dictionaries by utterance."""

import kaldi_native_io
import numpy as np


def matrices(rspecifier):
    """{key: matrix}.  The copies matter: the reader's own matrices are only valid until it moves on."""
    with kaldi_native_io.SequentialFloatMatrixReader(rspecifier) as reader:
        return {key: np.array(value) for key, value in reader}


def alignments(folder):
    """{key: phone id of each frame}"""
    with kaldi_native_io.SequentialInt32VectorReader(f"ark:{folder}/ali.ark") as reader:
        return {key: np.array(value) for key, value in reader}


def table(path):
    """{key: list of the other fields} of a text table."""
    with open(path) as file:
        return {key: fields for key, *fields in (line.split() for line in file)}
