# For scripts/web.sh: functions of ISA-L 2.30 that one file declares otherwise than another one defines them. Native code
# forgives that; WebAssembly ends the program when such a function is called.
s/^uint32_t adler32_base(uint32_t adler32, uint8_t \* start, uint32_t length)/uint32_t adler32_base(uint32_t adler32, const unsigned char *start, uint64_t length)/
s/uint8_t \* end_in,$/uint64_t processed, uint64_t input_size,/
s/struct deflate_icf \*match_lookup, struct level_buf \*level_buf)/struct deflate_icf *match_lookup)/
s/set_long_icf_fg_base(next_in, end_in, match_lookup, level_buf)/set_long_icf_fg_base(next_in, processed, input_size, match_lookup)/
s/^void gen_icf_map_/uint64_t gen_icf_map_/
s/^\tgen_icf_map_h1_base(stream, /\treturn gen_icf_map_h1_base(stream, /
s/gen_icf_map_lh1(struct isal_zstream \*, struct deflate_icf \*, uint32_t);/gen_icf_map_lh1(struct isal_zstream *, struct deflate_icf *, uint64_t);/
