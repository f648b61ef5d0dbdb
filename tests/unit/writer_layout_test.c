/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc.h"
#include "support/suite.h"
#include "writer/bytes.h"
#include "writer/ebml.h"
#include "writer/layout.h"

static struct sl_stream_record make_stream(const char *pixel, uint32_t width, uint32_t height, bool crc)
{
    struct sl_stream_record record = {.segment = 3, .checksum = crc, .utc_ns = 1753000000123456789, .monotonic_ns = 987654321};
    struct sl_layout layout;

    ck_assert_int_eq(sl_video_format_tight(&record.format, sl_pixel_format_by_name(pixel), width, height), 0);
    record.format.fps = (struct sl_rational){60000, 1001};
    record.format.colour = (struct sl_colour){1, 1, 1, 1};
    ck_assert_int_eq(sl_layout_init(&layout, record.format.frame_bytes, crc), 0);
    record.slot_bytes = layout.slot_bytes;
    memset(record.session, 0xA5, sizeof(record.session));
    strcpy(record.writer, "sluice 0.1.0");
    strcpy(record.description, "uvcvideo: Camera (usb-0000:00:14.0-1)");
    return record;
}

START_TEST(test_slot_arithmetic)
{
    static const struct {
        uint32_t frame_bytes;
        uint64_t slot_bytes;
        uint32_t tail_bytes, tail_span;
    } row[] = {
        {4147200, 4153344, 2048, 4096},
        {1843200, 1847296, 0, 0},
        {1, 8192, 4095, 4096},
        {4094, 8192, 2, 4096},
        {4095, 4096 * 3, 4097, 8192},
        {4096, 8192, 0, 0},
        {4097, 12288, 4095, 4096},
        {459672, 466944, 3176, 4096},
        {SL_LAYOUT_MAX_FRAME_BYTES, (uint64_t)SL_LAYOUT_MAX_FRAME_BYTES + 4096, 0, 0},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct sl_layout layout;

        ck_assert_int_eq(sl_layout_init(&layout, row[i].frame_bytes, true), 0);
        ck_assert_uint_eq(layout.slot_bytes, row[i].slot_bytes);
        ck_assert_uint_eq(layout.tail_bytes, row[i].tail_bytes);
        ck_assert_uint_eq(layout.tail_span, row[i].tail_span);
        ck_assert_uint_eq(layout.slot_bytes % SL_PAGE_BYTES, 0);
        ck_assert_uint_eq(SL_PAGE_BYTES + layout.frame_bytes + (uint64_t)layout.tail_bytes, layout.slot_bytes);
    }
}
END_TEST

START_TEST(test_slot_refuses)
{
    struct sl_layout layout;

    ck_assert_int_eq(sl_layout_init(&layout, 0, false), -EINVAL);
    ck_assert_int_eq(sl_layout_init(&layout, SL_LAYOUT_MAX_FRAME_BYTES + 1, false), -EINVAL);
}
END_TEST

START_TEST(test_offsets_beyond_4_gib)
{
    struct sl_layout layout;

    ck_assert_int_eq(sl_layout_init(&layout, 4147200, false), 0);
    ck_assert_uint_eq(sl_layout_header_at(&layout, 1000000), 4153344000000ULL);
    ck_assert_uint_eq(sl_layout_payload_at(&layout, 1000000), 4153344004096ULL);
    ck_assert_uint_eq(sl_layout_cluster_position(&layout, 1000000), 4153344004061ULL - 53);
}
END_TEST

/* Follows the elements from `at` on and returns where the element with `id` starts. */
static size_t walk_to(const uint8_t *page, size_t at, uint32_t id)
{
    struct sl_ebml_element element;

    for (;;) {
        ck_assert_int_eq(sl_ebml_read_head(page + at, SL_PAGE_BYTES - at, &element), 0);
        if (element.id == id)
            return at;
        at += element.head_bytes + element.size;
        ck_assert_uint_lt(at, SL_PAGE_BYTES);
    }
}

START_TEST(test_header_page_leads_to_payload)
{
    bool crc = _i & 1;
    uint64_t slot = _i & 2 ? 7 : 0;
    struct sl_stream_record stream = make_stream("UYVY", 1920, 1080, crc);
    struct sl_layout layout;
    struct sl_ebml_element element;
    uint8_t page[SL_PAGE_BYTES];
    size_t at;

    memset(page, 0xEE, sizeof(page));
    ck_assert_int_eq(sl_layout_init(&layout, stream.format.frame_bytes, crc), 0);
    if (slot == 0)
        ck_assert_int_eq(sl_layout_file_head(&layout, &stream, page), 0);
    sl_layout_header(&layout, slot, 123456789012345, page);
    at = walk_to(page, slot == 0 ? SL_LAYOUT_SEGMENT_DATA : 0, SL_MKV_CLUSTER);
    ck_assert_uint_eq(at, crc ? 4055 : 4061);
    ck_assert_int_eq(sl_ebml_read_head(page + at, SL_PAGE_BYTES - at, &element), 0);
    ck_assert_uint_eq(at + element.head_bytes + element.size, SL_PAGE_BYTES + 4147200u);
    at += element.head_bytes;
    if (crc)
        ck_assert_int_eq(sl_ebml_read_head(page + at, SL_PAGE_BYTES - at, &element), 0);
    if (crc)
        at += element.head_bytes + element.size;
    ck_assert_uint_eq(at, SL_LAYOUT_CRC_COVERS);
    ck_assert_uint_eq(sl_get_be(page + at, 2), 0xE788);
    ck_assert_uint_eq(sl_get_be(page + at + 2, 8), 123456789012345);
    ck_assert_int_eq(sl_ebml_read_head(page + at + 10, SL_PAGE_BYTES - at - 10, &element), 0);
    ck_assert_uint_eq(element.id, SL_MKV_SIMPLE_BLOCK);
    ck_assert_uint_eq(element.size, 4 + 4147200u);
    ck_assert_mem_eq(page + 4092, "\x81\x00\x00\x80", 4);
}
END_TEST

START_TEST(test_tail_ends_slot)
{
    static const uint32_t frame_bytes[] = {4147200, 4094, 4095, 4090, 1, 8190, 8191};
    struct sl_layout layout;
    struct sl_ebml_element element;
    uint8_t pages[2 * SL_PAGE_BYTES];

    ck_assert_int_eq(sl_layout_init(&layout, frame_bytes[_i], false), 0);
    memset(pages, 0xEE, sizeof(pages));
    sl_layout_tail_pages(&layout, pages);
    ck_assert_int_eq(sl_ebml_read_head(pages + layout.tail_span - layout.tail_bytes, layout.tail_bytes, &element), 0);
    ck_assert_uint_eq(element.id, SL_EBML_VOID);
    ck_assert_uint_eq(element.head_bytes + element.size, layout.tail_bytes);
    for (size_t i = 0; i < layout.tail_span - layout.tail_bytes; i++)
        ck_assert_uint_eq(pages[i], 0);
    memset(pages, 0xEE, sizeof(pages));
    sl_layout_tail(&layout, pages);
    ck_assert_int_eq(sl_ebml_read_head(pages, layout.tail_bytes, &element), 0);
    ck_assert_uint_eq(element.head_bytes + element.size, layout.tail_bytes);
}
END_TEST

START_TEST(test_void_spans)
{
    struct sl_stream_record stream = make_stream("UYVY", 640, 480, false);
    struct sl_layout layout;
    struct sl_frame_record record;
    uint8_t page[SL_PAGE_BYTES];
    size_t at;

    ck_assert_int_eq(sl_layout_init(&layout, stream.format.frame_bytes, false), 0);
    ck_assert_int_eq(sl_layout_file_head(&layout, &stream, page), 0);
    sl_layout_void(0, layout.slot_bytes, page);
    ck_assert_uint_eq(sl_layout_void_bytes(0, page), layout.slot_bytes);
    at = walk_to(page, SL_LAYOUT_SEGMENT_DATA, SL_MKV_TRACKS);
    ck_assert_uint_lt(at, SL_LAYOUT_HEAD_MAX);
    sl_layout_void(9, 256ULL << 20, page);
    ck_assert_uint_eq(sl_layout_void_bytes(9, page), 256ULL << 20);
    ck_assert_int_eq(sl_layout_open_seal(page, &record), -EBADMSG);
    sl_layout_header(&layout, 9, 0, page);
    ck_assert_uint_eq(sl_layout_void_bytes(9, page), SL_LAYOUT_RECORD_VOID);
}
END_TEST

static struct sl_frame_record make_record(bool has_crc)
{
    struct sl_frame_record record = {.segment = 0x01020304,
                                     .slot = 0x1122334455667788,
                                     .number = UINT64_MAX - 1,
                                     .time_ns = INT64_MAX - 5,
                                     .monotonic_ns = -7,
                                     .sequence = 0xFFFFFFFE,
                                     .flags = SL_FRAME_SHORT | SL_FRAME_TIME_SOE,
                                     .bytesused = 4147200,
                                     .has_crc = has_crc,
                                     .payload_crc = has_crc ? 0xDEADBEEF : 0,
                                     .completed = 42,
                                     .books = {.expected = 100, .captured = 90, .recorded = 80, .lost = {1, 2, 3, 4, 5, 6, 7}}};

    for (unsigned i = 0; i < 16; i++)
        record.session[i] = (uint8_t)(i * 17);
    return record;
}

START_TEST(test_frame_record_round_trip)
{
    struct sl_frame_record record = make_record(_i), read;
    struct sl_layout layout;
    uint8_t page[SL_PAGE_BYTES];

    ck_assert_int_eq(sl_layout_init(&layout, 4147200, record.has_crc), 0);
    sl_layout_header(&layout, record.slot, record.time_ns, page);
    if (record.has_crc)
        sl_layout_set_cluster_crc(page, record.payload_crc);
    sl_layout_seal(page, &record);
    ck_assert_int_eq(sl_layout_open_seal(page, &read), 0);
    ck_assert_mem_eq(read.session, record.session, 16);
    ck_assert_uint_eq(read.segment, record.segment);
    ck_assert_uint_eq(read.slot, record.slot);
    ck_assert_uint_eq(read.number, record.number);
    ck_assert_int_eq(read.time_ns, record.time_ns);
    ck_assert_int_eq(read.monotonic_ns, record.monotonic_ns);
    ck_assert_uint_eq(read.sequence, record.sequence);
    ck_assert_uint_eq(read.flags, record.flags);
    ck_assert_uint_eq(read.bytesused, record.bytesused);
    ck_assert_int_eq(read.has_crc, record.has_crc);
    ck_assert_uint_eq(read.payload_crc, record.payload_crc);
    ck_assert_uint_eq(read.completed, record.completed);
    ck_assert_mem_eq(&read.books, &record.books, sizeof(read.books));
}
END_TEST

/* Every single flipped bit of the record's sector must be noticed, and of the Void before it. */
START_TEST(test_frame_record_flips)
{
    struct sl_frame_record record = make_record(true), read;
    struct sl_layout layout;
    uint8_t page[SL_PAGE_BYTES];

    ck_assert_int_eq(sl_layout_init(&layout, 4147200, true), 0);
    sl_layout_header(&layout, record.slot, record.time_ns, page);
    sl_layout_set_cluster_crc(page, record.payload_crc);
    sl_layout_seal(page, &record);
    for (unsigned bit = 0; bit < 8 * SL_PAGE_BYTES; bit++) {
        if (bit >= 8 * 8 && bit < 8 * SL_LAYOUT_RECORD_VOID)
            continue;
        page[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_msg(sl_layout_open_seal(page, &read) == -EBADMSG, "bit %u", bit);
        page[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    ck_assert_int_eq(sl_layout_open_seal(page, &read), 0);
}
END_TEST

START_TEST(test_frame_record_bytes)
{
    struct sl_frame_record record = make_record(true);
    struct sl_layout layout;
    uint8_t page[SL_PAGE_BYTES];
    const uint8_t *at = page + 3592;

    ck_assert_int_eq(sl_layout_init(&layout, 4147200, true), 0);
    sl_layout_header(&layout, record.slot, record.time_ns, page);
    sl_layout_set_cluster_crc(page, record.payload_crc);
    sl_layout_seal(page, &record);
    ck_assert_mem_eq(at, "SLUFRAME\x01\x00\xb8\x00", 12);
    ck_assert_mem_eq(at + 32, "\x04\x03\x02\x01", 4);
    ck_assert_uint_eq(sl_get_le64(at + 40), record.slot);
    ck_assert_uint_eq(sl_get_le64(at + 80), 42);
    ck_assert_uint_eq(sl_get_le32(at + 88), 0xDEADBEEF);
    ck_assert_uint_eq(sl_get_le64(at + 120 + 8 * 6), 7);
    ck_assert_uint_eq(sl_get_le64(at + 120 + 8 * 7), 0);
    ck_assert_mem_eq(page + 4067, "\xbf\x84\xef\xbe\xad\xde", 6);
}
END_TEST

START_TEST(test_cluster_crc)
{
    struct sl_layout layout;
    uint8_t page[SL_PAGE_BYTES], whole[23 + 100], payload[100];

    ck_assert_uint_eq(sl_crc32(0, "123456789", 9), 0xCBF43926);
    for (unsigned i = 0; i < sizeof(payload); i++)
        payload[i] = (uint8_t)(i * 31);
    ck_assert_int_eq(sl_layout_init(&layout, sizeof(payload), true), 0);
    sl_layout_header(&layout, 5, 99, page);
    memcpy(whole, page + 4073, 23);
    memcpy(whole + 23, payload, sizeof(payload));
    ck_assert_uint_eq(sl_layout_cluster_crc(&layout, page, payload), sl_crc32(0, whole, sizeof(whole)));
}
END_TEST

START_TEST(test_stream_record_round_trip)
{
    static const char *const pixel[] = {"YUYV", "UYVY", "NV12", "NV16"};
    struct sl_stream_record record = make_stream(pixel[_i], 1280, 720, true), read;
    uint8_t bytes[SL_LAYOUT_STREAM_RECORD_BYTES];

    record.format.interlaced = true;
    sl_stream_record_encode(&record, bytes);
    ck_assert_int_eq(sl_stream_record_decode(bytes, &read), 0);
    ck_assert_mem_eq(read.session, record.session, 16);
    ck_assert_uint_eq(read.segment, 3);
    ck_assert(read.checksum);
    ck_assert_uint_eq(read.slot_bytes, record.slot_bytes);
    ck_assert_int_eq(read.utc_ns, record.utc_ns);
    ck_assert_int_eq(read.monotonic_ns, record.monotonic_ns);
    ck_assert_ptr_eq(read.format.pixel, record.format.pixel);
    ck_assert_uint_eq(read.format.width, 1280);
    ck_assert_uint_eq(read.format.height, 720);
    ck_assert_uint_eq(read.format.frame_bytes, record.format.frame_bytes);
    for (unsigned plane = 0; plane < read.format.pixel->planes; plane++) {
        ck_assert_uint_eq(read.format.bytesperline[plane], record.format.bytesperline[plane]);
        ck_assert_uint_eq(read.format.lines[plane], record.format.lines[plane]);
        ck_assert_uint_eq(read.format.offset[plane], record.format.offset[plane]);
    }
    ck_assert_uint_eq(read.format.fps.num, 60000);
    ck_assert_uint_eq(read.format.fps.den, 1001);
    ck_assert_mem_eq(&read.format.colour, &record.format.colour, sizeof(read.format.colour));
    ck_assert(read.format.interlaced);
    ck_assert_str_eq(read.writer, record.writer);
    ck_assert_str_eq(read.description, record.description);
    for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_msg(sl_stream_record_decode(bytes, &read) == -EBADMSG, "bit %u", bit);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}
END_TEST

/* A record with a right CRC and numbers that do not fit together is refused. */
START_TEST(test_stream_record_lies)
{
    struct sl_stream_record record, read;
    uint8_t bytes[SL_LAYOUT_STREAM_RECORD_BYTES];
    struct sl_stream_record *r = &record;
    uint32_t *const field[] = {&r->format.width,           &r->format.height,   &r->format.frame_bytes,
                               &r->format.bytesperline[1], &r->format.lines[1], &r->format.offset[1]};
    static const uint32_t wrong[] = {0, 16386, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};

    for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
        record = make_stream("NV12", 640, 480, false);
        *field[i] = wrong[i];
        sl_stream_record_encode(&record, bytes);
        ck_assert_msg(sl_stream_record_decode(bytes, &read) == -EBADMSG, "field %zu", i);
    }
    record = make_stream("NV12", 640, 480, false);
    record.slot_bytes += SL_PAGE_BYTES;
    sl_stream_record_encode(&record, bytes);
    ck_assert_int_eq(sl_stream_record_decode(bytes, &read), -EBADMSG);
}
END_TEST

START_TEST(test_file_head_longest_text)
{
    struct sl_stream_record record = make_stream("YUYV", 1920, 1080, true), read;
    struct sl_layout layout;
    uint8_t page[SL_PAGE_BYTES];
    size_t at;

    memset(record.description, 'd', sizeof(record.description) - 1);
    memset(record.writer, 'w', sizeof(record.writer) - 1);
    record.description[0] = '\xff';
    ck_assert_int_eq(sl_video_format_padded(&record.format, record.format.pixel, 1920, 1080, 3968, 1088), 0);
    ck_assert_int_eq(sl_layout_init(&layout, record.format.frame_bytes, true), 0);
    record.slot_bytes = layout.slot_bytes;
    ck_assert_int_eq(sl_layout_file_head(&layout, &record, page), 0);
    at = walk_to(page, SL_LAYOUT_SEGMENT_DATA, SL_MKV_TRACKS);
    ck_assert_uint_lt(at + 600, SL_LAYOUT_HEAD_MAX);
    ck_assert_int_eq(sl_stream_record_decode(page + SL_LAYOUT_STREAM_RECORD, &read), 0);
    ck_assert_int_eq(read.description[0], '?');
    ck_assert_uint_eq(strlen(read.description), 255);
    ck_assert_int_eq(read.utc_ns, record.utc_ns);
}
END_TEST

START_TEST(test_file_head_refuses_odd_lines)
{
    struct sl_stream_record record = make_stream("YUYV", 640, 480, false);
    struct sl_layout layout;
    uint8_t page[SL_PAGE_BYTES];

    ck_assert_int_eq(sl_video_format_padded(&record.format, record.format.pixel, 640, 480, 1282, 480), 0);
    ck_assert_int_eq(sl_layout_init(&layout, record.format.frame_bytes, false), 0);
    record.slot_bytes = layout.slot_bytes;
    ck_assert_int_eq(sl_layout_file_head(&layout, &record, page), -EINVAL);
}
END_TEST

START_TEST(test_file_finish)
{
    struct sl_stream_record record = make_stream("UYVY", 1920, 1080, true);
    struct sl_frame_record frame = make_record(true), read;
    struct sl_file_end end = {.file_bytes = 5ULL << 32, .cues_at = (5ULL << 32) - 4096, .duration_ns = 3600 * SL_NS_PER_S + 1}, back;
    struct sl_layout layout;
    uint8_t page[SL_PAGE_BYTES], before[SL_PAGE_BYTES];
    size_t at;

    ck_assert_int_eq(sl_layout_init(&layout, record.format.frame_bytes, true), 0);
    ck_assert_int_eq(sl_layout_file_head(&layout, &record, page), 0);
    frame.slot = 0;
    sl_layout_header(&layout, 0, frame.time_ns, page);
    sl_layout_set_cluster_crc(page, frame.payload_crc);
    sl_layout_seal(page, &frame);
    ck_assert_int_eq(sl_layout_file_end(page, &back), -ENODATA);
    memcpy(before, page, sizeof(page));
    ck_assert_int_eq(sl_layout_file_finish(page, &end), 0);
    ck_assert_mem_eq(page + 512, before + 512, sizeof(page) - 512);
    ck_assert_int_eq(sl_layout_file_end(page, &back), 0);
    ck_assert_uint_eq(back.file_bytes, end.file_bytes);
    ck_assert_uint_eq(back.cues_at, end.cues_at);
    ck_assert_int_eq(back.duration_ns, end.duration_ns);
    ck_assert_int_eq(sl_layout_open_seal(page, &read), 0);
    at = walk_to(page, SL_LAYOUT_SEGMENT_DATA, SL_MKV_CLUSTER);
    ck_assert_uint_eq(at, SL_LAYOUT_CLUSTER_CRC);
    memset(page, 0, 4);
    ck_assert_int_eq(sl_layout_file_finish(page, &end), -EBADMSG);
    ck_assert_int_eq(sl_layout_file_end(page, &back), -EBADMSG);
}
END_TEST

START_TEST(test_cues)
{
    uint8_t head[SL_LAYOUT_CUES_HEAD_BYTES], point[SL_LAYOUT_CUE_POINT_BYTES];
    struct sl_ebml_element element;

    sl_layout_cues_head(216000, head);
    ck_assert_int_eq(sl_ebml_read_head(head, sizeof(head), &element), 0);
    ck_assert_uint_eq(element.id, SL_MKV_CUES);
    ck_assert_uint_eq(element.head_bytes + element.size, sl_layout_cues_bytes(216000));
    sl_layout_cue_point(0x0102030405060708, 0x1112131415161718, point);
    ck_assert_mem_eq(point, "\xbb\x99\xb3\x88\x01\x02\x03\x04\x05\x06\x07\x08\xb7\x8d\xf7\x81\x01\xf1\x88\x11\x12\x13\x14\x15\x16\x17\x18",
                     27);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer layout");
    TCase *tcase = tcase_create("layout");

    tcase_add_test(tcase, test_slot_arithmetic);
    tcase_add_test(tcase, test_slot_refuses);
    tcase_add_test(tcase, test_offsets_beyond_4_gib);
    tcase_add_loop_test(tcase, test_header_page_leads_to_payload, 0, 4);
    tcase_add_loop_test(tcase, test_tail_ends_slot, 0, 7);
    tcase_add_test(tcase, test_void_spans);
    tcase_add_loop_test(tcase, test_frame_record_round_trip, 0, 2);
    tcase_add_test(tcase, test_frame_record_flips);
    tcase_add_test(tcase, test_frame_record_bytes);
    tcase_add_test(tcase, test_cluster_crc);
    tcase_add_loop_test(tcase, test_stream_record_round_trip, 0, 4);
    tcase_add_test(tcase, test_stream_record_lies);
    tcase_add_test(tcase, test_file_head_longest_text);
    tcase_add_test(tcase, test_file_head_refuses_odd_lines);
    tcase_add_test(tcase, test_file_finish);
    tcase_add_test(tcase, test_cues);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
