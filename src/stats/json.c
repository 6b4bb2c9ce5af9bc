/* SPDX-License-Identifier: MIT */
#include "stats/json.h"

/* Bytes of the UTF-8 character at `text`: 1 to 4, or 0 when it is invalid. */
static unsigned
character_length(const unsigned char *text)
{
    unsigned length = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    if (length < 2 || text[0] > 0xf4) {
        return length < 2 ? length : 0;
    }
    for (unsigned at = 1; at < length; at++) {
        if ((text[at] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* An overlong form, a surrogate, or beyond the last character. */
    bool wrong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
                 (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f);
    return wrong ? 0 : length;
}

static void
put_string(struct hew_writer *out, const char *string)
{
    const unsigned char *text = (const unsigned char *)string;
    hew_writer_put_byte(out, '"');
    while (*text != '\0') {
        unsigned length = character_length(text);
        if (length == 0 || *text < ' ') {
            hew_writer_put(out, "\\u");
            hew_writer_put_hex4(out, length == 0 ? 0xfffd : *text);
            text++;
            continue;
        }
        if (*text == '"' || *text == '\\') {
            hew_writer_put_byte(out, '\\');
        }
        for (; length > 0; length--) {
            hew_writer_put_byte(out, (char)*text++);
        }
    }
    hew_writer_put_byte(out, '"');
}

/* Writes the comma and the key before a value. */
static void
lead_in(struct hew_json *json, const char *key)
{
    if (json->follows) {
        hew_writer_put_byte(json->out, ',');
    }
    json->follows = true;
    if (key != NULL) {
        put_string(json->out, key);
        hew_writer_put_byte(json->out, ':');
    }
}

void
hew_json_open(struct hew_json *json, const char *key, char bracket)
{
    lead_in(json, key);
    hew_writer_put_byte(json->out, bracket);
    json->follows = false;
}

void
hew_json_close(struct hew_json *json, char bracket)
{
    hew_writer_put_byte(json->out, bracket);
    json->follows = true;
}

void
hew_json_unsigned(struct hew_json *json, const char *key, uint64_t value)
{
    lead_in(json, key);
    hew_writer_put_unsigned(json->out, value);
}

void
hew_json_signed(struct hew_json *json, const char *key, int64_t value)
{
    lead_in(json, key);
    hew_writer_put_signed(json->out, value);
}

void
hew_json_bool(struct hew_json *json, const char *key, bool value)
{
    lead_in(json, key);
    hew_writer_put(json->out, value ? "true" : "false");
}

void
hew_json_text(struct hew_json *json, const char *key, const char *value)
{
    lead_in(json, key);
    put_string(json->out, value);
}
