/* A pull reader for JSON (RFC 8259): the caller asks for the next key, item or value and takes or
 * skips it.
 *
 * Why not a library: headers of model files reach 100 MB, and one that is refused must cost neither
 * memory nor time. A tree of nodes, as Debian's JSON libraries make, takes 20 bytes of memory for
 * one of the text, and jansson 2.14 reads through NULL, or cuts a key short and goes on, when an
 * allocation inside it fails. This reader allocates nothing: it works in place on a text of known
 * size (no NUL at its end is needed), in one pass, without recursion, in time linear in the text.
 *
 *     struct headwise_json_reader json;
 *     struct headwise_json_text key;
 *     headwise_json_begin(&json, bytes, size);
 *     headwise_json_enter_object(&json);
 *     while (headwise_json_next_key(&json, &key)) {
 *         if (headwise_json_equals(&key, "vocab"))
 *             read_vocabulary(&json);
 *         else
 *             headwise_json_skip(&json, NULL);
 *     }
 *     headwise_json_end(&json);
 *     if (json.error)
 *         headwise_json_describe(line, sizeof line, &json);
 *
 * The first error stays: every function afterwards returns false and moves nothing, so that it may
 * be asked for once, after the loops. Skipping checks the form of what it skips and nothing else:
 * what only matters to who needs it is no error there, namely numbers of any size, Infinity,
 * -Infinity and NaN (which Python writes), unpaired surrogates in escapes, and repeated keys. A
 * text that is not UTF-8 is an error everywhere. A byte-order mark at the beginning is passed over.
 *
 * Limits: HEADWISE_JSON_MAX_DEPTH levels of arrays and objects; the size of an object in memory.
 * A reader is used by one thread at a time. */
#ifndef HEADWISE_JSON_READER_H
#define HEADWISE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/values.h"

enum { HEADWISE_JSON_MAX_DEPTH = 512 };

enum headwise_json_kind {
    HEADWISE_JSON_NOTHING = 0, /* no value begins here; nothing is taken and no error is set */
    HEADWISE_JSON_NULL,
    HEADWISE_JSON_BOOL,
    HEADWISE_JSON_NUMBER, /* Infinity, -Infinity and NaN too */
    HEADWISE_JSON_TEXT,
    HEADWISE_JSON_ARRAY,
    HEADWISE_JSON_OBJECT
};

struct headwise_json_reader {
    const char *error;    /* what was expected or is wrong, a text of static storage; NULL: none */
    const char *error_at; /* where, in the text */
    const char *whole;    /* where lines and bytes are counted from */
    const char *at, *end;
    int depth;
    bool is_first;                                    /* nothing of the innermost one was taken */
    uint64_t is_object[HEADWISE_JSON_MAX_DEPTH / 64]; /* a bit for each level: not an array */
};

/* Sets the reader to the beginning of size bytes, which must stay as they are while it, or a slice
 * that it gave, is used. bytes may be NULL where size is 0. */
void headwise_json_begin(struct headwise_json_reader *json, const void *bytes, size_t size);

/* Sets the reader to a value that was skipped in the text that begins at whole, from where the
 * places of errors are counted. */
void headwise_json_begin_slice(struct headwise_json_reader *json, const char *whole,
                               const struct headwise_json_slice *value);

/* The kind of the value that comes next, by its first character. */
enum headwise_json_kind headwise_json_peek(struct headwise_json_reader *json);

/* Takes the bracket of an array or object that comes next. */
bool headwise_json_enter_object(struct headwise_json_reader *json);
bool headwise_json_enter_array(struct headwise_json_reader *json);

/* In an object: takes the next key and its colon; true: its value comes next, and must be taken,
 * entered or skipped before the next call. False: the end of the object was taken, or an error. */
bool headwise_json_next_key(struct headwise_json_reader *json, struct headwise_json_text *key);

/* In an array: true where another item comes next; as above. */
bool headwise_json_next_item(struct headwise_json_reader *json);

/* Take a value of that kind; another kind is an error. */
bool headwise_json_take_text(struct headwise_json_reader *json, struct headwise_json_text *text);
bool headwise_json_take_number(struct headwise_json_reader *json,
                               struct headwise_json_number *number);
bool headwise_json_take_bool(struct headwise_json_reader *json, bool *value);
bool headwise_json_take_null(struct headwise_json_reader *json);

/* Takes the next value whatever it is, with all that is in it. *value, where it is not NULL, is
 * where it stands, without blanks around it. */
bool headwise_json_skip(struct headwise_json_reader *json, struct headwise_json_slice *value);

/* True where nothing but blanks is left. */
bool headwise_json_end(struct headwise_json_reader *json);

/* Sets an error of the caller's: error, of static storage, about the place at. Returns false. */
bool headwise_json_fail(struct headwise_json_reader *json, const char *at, const char *error);

/* Writes "line 2, column 7 (byte 31): expected a value" to line, cut to size bytes with its NUL.
 * Lines and columns (in characters) are counted from 1, bytes from 0, of the text with its
 * byte-order mark. There must be an error. */
void headwise_json_describe(char *line, size_t size, const struct headwise_json_reader *json);

/* Those three numbers of any place in the text. */
struct headwise_json_place {
    size_t byte, line, column;
};
struct headwise_json_place headwise_json_place(const struct headwise_json_reader *json,
                                               const char *at);

/* How often an object that was skipped without an error has the key; *value is the last value, as
 * Python takes it, and unchanged where there is none. */
size_t headwise_json_find(struct headwise_json_slice *value,
                          const struct headwise_json_slice *object, const char *key);

/* Writes the text->size bytes of UTF-8 that a text stands for; no NUL. */
void headwise_json_copy(char *dst, const struct headwise_json_text *text);

/* Whether a text stands for a word (a C string) without U+0000 and unpaired surrogates. */
bool headwise_json_equals(const struct headwise_json_text *text, const char *word);

/* Below, equal to or above 0 as a comes before b by the bytes of UTF-8 that they stand for. Sorted
 * so, repeated keys are neighbours. */
int headwise_json_compare(const struct headwise_json_text *a, const struct headwise_json_text *b);

/* Convert a number; false, *value unchanged, where it is no integer or beyond 64 bits; where it is
 * not finite or beyond the range of double. The double is the nearest one (ties to even) in the
 * default rounding mode, whatever the locale. */
bool headwise_json_to_int64(const struct headwise_json_number *number, int64_t *value);
bool headwise_json_to_double(const struct headwise_json_number *number, double *value);

#endif
