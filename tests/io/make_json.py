"""Writes texts, most of them mutated, with what Python's json reads in them.

One a line: the text in hex, then "bad", or its tokens: { } [ ] n t f, k and s with the UTF-8 of a
key or text in hex (U+FFFD for half a surrogate pair), w for Infinity and NaN, and for a number
"i VALUE" ("i x" where it is no integer of 64 bits) and "d BITS" ("d x" where no double is near)."""
import decimal
import json
import random
import struct
import sys

BASES = [
    b'{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"__metadata__":{"format":"pt"}}',
    b'[]', b'{}', b'""', b'0', b'null', b' [ true , false , null ] ', b'[[[[]]],{"":{"":[{}]}}]',
    b'[-0, 0, -1, 9223372036854775807, -9223372036854775808, 9223372036854775808, 1e5, 12345678901]',
    b'[0.1, 1.5e-3, 2.2250738585072011e-308, 4.9e-324, 2.4e-324, 1.7976931348623157e308, 1e309, -1E+2]',
    b'[9007199254740993, 9007199254740993.0000000000000000000000001, 0.500000000000000166533453693773]',
    b'[Infinity, -Infinity, NaN, {"a": NaN}]',
    b'"\\u0000\\b\\f\\n\\r\\t\\"\\\\\\/ \\u00e9\\u20AC\\ud83d\\ude00 \\ud83d \\ude00\\ud83d"',
    '"é€😀\U0010ffff\u0800\ud7ff\ue000"'.encode(errors='surrogatepass'), b'\xef\xbb\xbf{"a":1}',
    b'{"a":1,"a":2,"b":{"c":[1,2,{"d":"e"}]}}', b'"\xed\xa0\x80"', b'"\xc0\x80"', b'"\xf4\x90\x80\x80"',
    b'{"rope_theta": 1e6, "eps": 1e-06, "x": -12.5E-7, "list": [1.0, 2.50, 300e0]}',
]
PIECES = [b'"', b'\\', b'{', b'}', b'[', b']', b',', b':', b'0', b'1', b'-', b'.', b'e', b'E', b'+', b'\x00', b'\n',
          b'\x1f', b'\x7f', b'\x80', b'\xc3\xa9', b'\xff', b'\\u', b'\\ud800', b'\\udc00', b'true', b'nul', b'NaN',
          b'Infinity', b'//', b"'", b' ', b'\xe2\x82', b'00', b'1e400', b'\xef\xbb\xbf', b'9' * 20, b'\\x', b'\t']


class Pairs(list):
    pass


class Number(str):
    pass


def write(value, out):
    if isinstance(value, Pairs):
        out.append('{')
        for key, item in value:
            out.append('k' + as_hex(key))
            write(item, out)
        out.append('}')
    elif isinstance(value, list):
        out.append('[')
        for item in value:
            write(item, out)
        out.append(']')
    elif isinstance(value, Number):
        out.append(number(value))
    elif isinstance(value, str):
        out.append('s' + as_hex(value))
    else:
        out.append({None: 'n', True: 't', False: 'f'}[value])


def as_hex(text):
    return ''.join('\ufffd' if 0xd800 <= ord(c) < 0xe000 else c for c in text).encode().hex()


def number(text):
    if text in ('NaN', 'Infinity', '-Infinity'):
        return 'w'
    is_integer = text.lstrip('-').isdigit()
    integer = int(text) if is_integer and len(text) < 4000 else 1 << 80
    real = float(text)
    return 'i %s d %s' % (integer if -2**63 <= integer < 2**63 else 'x',
                          'x' if abs(real) == float('inf') else struct.pack('>d', real).hex())


def tokens(data):
    try:
        value = json.loads(data.decode('utf-8-sig'), object_pairs_hook=Pairs, parse_int=Number, parse_float=Number,
                           parse_constant=Number)
    except ValueError:
        return 'bad'
    out = []
    write(value, out)
    return ' '.join(out)


def mutate(rng, data):
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice([0, 1, 1, 2, 5]))
        kind = rng.randrange(4)
        if kind == 0:
            data = data[:at] + data[to:]
        elif kind == 1:
            data = data[:at] + rng.choice(PIECES) + data[to:]
        elif kind == 2:
            data = data[:at] + data[at:to] * 2 + data[to:]
        else:
            other = rng.choice(BASES)
            begin = rng.randrange(len(other))
            data = data[:at] + other[begin:begin + rng.randrange(12)] + data[to:]
    return data


def digits(rng):
    """A number of many digits: often halfway between two doubles, or a little above that."""
    if rng.randrange(3) == 0:
        fraction = rng.getrandbits(rng.randrange(1, 3000))
        return ('%d.%de%d' % (rng.randrange(10), fraction, rng.randrange(-330, 310))).encode()
    bits = rng.randrange(0x7fe0000000000000)
    low, high = (decimal.Decimal(struct.unpack('>d', struct.pack('>Q', bits + i))[0]) for i in range(2))
    text = format((low + high) / 2, 'f')
    return (text + ('' if '.' in text else '.') + rng.choice(['0', '1', '0' * 50 + '1'])).encode()


def main(path):
    rng = random.Random(20)
    decimal.getcontext().prec = 2000 # exact
    texts = list(BASES)
    texts += [mutate(rng, rng.choice(BASES)) for _ in range(6000)]
    texts += [digits(rng) for _ in range(300)]
    with open(path, 'w', encoding='ascii') as file:
        for text in texts:
            file.write('%s %s\n' % (text.hex() or '-', tokens(text)))


main(sys.argv[1])
