/* headwise sweep: what its rows must say whatever the machine, and what it refuses. */
#include "cli_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rng.h"

enum { COLUMNS = 24, MOST_ROWS = 40 };

/* threads,length,heads,head_dim,runs,median_s,quartile1_s,quartile3_s,least_s,tokens_per_s,gflops,
 * times_the_first, six shares, share_rest,exponentials,parameters,output_change,rank_least,
 * rank_greatest */
enum {
    THREADS,
    LENGTH,
    HEADS,
    HEAD_DIM,
    RUNS,
    MEDIAN,
    QUARTILE_1,
    QUARTILE_3,
    LEAST,
    TOKENS,
    GFLOPS,
    RATIO,
    FIRST_SHARE,
    REST = FIRST_SHARE + 6,
    EXPONENTIALS,
    PARAMETERS,
    CHANGE,
    RANK_LEAST,
    RANK_GREATEST
};

struct table {
    int n;
    double rows[MOST_ROWS][COLUMNS];
};

static void read_csv(struct table *table, const char *path, int n_columns) {
    char line[1024];
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    assert_non_null(fgets(line, sizeof line, stream));
    assert_ptr_equal(strstr(line, "threads,length,heads,head_dim,runs,median_s,"), line);
    for (table->n = 0; fgets(line, sizeof line, stream); table->n++) {
        const char *rest = line;
        assert_true(table->n < MOST_ROWS);
        for (int c = 0; c < n_columns; c++) {
            char *end;
            table->rows[table->n][c] = strtod(rest, &end);
            assert_true(end != rest && *end == (c + 1 < n_columns ? ',' : '\n'));
            rest = end + 1;
        }
    }
    fclose(stream);
    unlink(path);
}

static void expect_row(const double *row, const double *first, bool causal) {
    double n = row[LENGTH], h = row[HEADS], pairs = causal ? n * (n + 1) / 2 : n * n;
    double flops = 2 * n * 4 * 24 * 24 + 4 * pairs * 24, shares = row[REST];
    assert_true(row[HEAD_DIM] == 24 / h && row[RUNS] == 3);
    assert_true(row[PARAMETERS] == 4 * 24 * 24);
    assert_true(row[LEAST] > 0 && row[LEAST] <= row[QUARTILE_1] && row[QUARTILE_1] <= row[MEDIAN] &&
                row[MEDIAN] <= row[QUARTILE_3]);
    assert_true(fabs(row[TOKENS] * row[MEDIAN] / n - 1) < 1e-5);
    assert_true(fabs(row[GFLOPS] * row[MEDIAN] * 1e9 / flops - 1) < 1e-5);
    assert_true(fabs(row[RATIO] * row[MEDIAN] / first[MEDIAN] - 1) < 1e-5);
    /* Rows of up to 256 keys are whole, those of a causal mask reach beyond it to the last row's.
     */
    assert_true(row[EXPONENTIALS] <= h * n * n && row[EXPONENTIALS] >= h * pairs);
    for (int g = 0; g < 6; g++) {
        assert_true(row[FIRST_SHARE + g] >= 0);
        shares += row[FIRST_SHARE + g];
    }
    assert_true(fabs(shares - 1) < 1e-3);
    assert_true(row[FIRST_SHARE] > 0);
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

static void expect_svg(const char *path, int n_points) {
    static char text[1 << 16];
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    size_t n = fread(text, 1, sizeof text - 1, stream);
    text[n] = '\0';
    fclose(stream);
    unlink(path);
    assert_true(n < sizeof text - 1);
    assert_ptr_equal(strstr(text, "<svg xmlns=\"http://www.w3.org/2000/svg\""), text);
    assert_string_equal(text + n - 7, "</svg>\n");
    assert_int_equal(count(text, "<circle"), n_points);
    assert_int_equal(count(text, "<text"), count(text, "</text>"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
}

static void rows_say_what_was_asked(enum headwise_isa isa) {
    const char *tier = headwise_isa_name(isa);
    for (int causal = 0; causal < 2; causal++) {
        struct table table;
        cli_accepts("sweep", "--d-model", "24", "--heads", "1,2,3,8", "--seq", "5,70", "--threads",
                    "1,2", "--repeat", "3", "--csv", "out.csv", "--svg", "out.svg", "--isa", tier,
                    causal ? "--causal" : NULL);
        read_csv(&table, "out.csv", PARAMETERS + 1);
        assert_int_equal(table.n, 2 * 2 * 4);
        static const double heads[] = {1, 2, 3, 8}, lengths[] = {5, 70};
        for (int i = 0; i < table.n; i++) {
            const double *row = table.rows[i];
            assert_true(row[THREADS] == 1 + i / 8 && row[LENGTH] == lengths[i / 4 % 2] &&
                        row[HEADS] == heads[i % 4]);
            expect_row(row, table.rows[i - i % 4], causal);
            if (!causal)
                assert_true(row[EXPONENTIALS] == row[HEADS] * row[LENGTH] * row[LENGTH]);
        }
        expect_svg("out.svg", table.n);
        assert_non_null(strstr(cli.out, causal ? "causal attention" : "full attention"));
        assert_non_null(strstr(cli.out, tier));
        assert_int_equal(count(cli.out, "\nlength "), 4);
        assert_int_equal(count(cli.out, "\nlength 70, 2 threads\n"), 1);
    }
}

enum { WIDTH = 16, ROWS = 6 };

/* W_Q, W_K, W_V, W_O and X, the same every time; names begin with prefix. */
static void write_layer(const char *path, const char *prefix, int64_t k_width, bool has_x) {
    static const char *const names[] = {"W_Q", "W_K", "W_V", "W_O", "X"};
    static float values[5][WIDTH * WIDTH];
    struct headwise_file_tensor tensors[5];
    char full[5][32];
    struct test_rng rng = test_rng_fixed(77);
    for (int i = 0; i < 5; i++) {
        test_rng_fill(&rng, values[i], WIDTH * WIDTH, 0.5f);
        snprintf(full[i], sizeof full[i], "%s%s", i < 4 ? prefix : "", names[i]);
        tensors[i] = CLI_TENSOR(full[i], values[i], i < 4 ? WIDTH : ROWS, i == 1 ? k_width : WIDTH);
    }
    cli_write(path, tensors, has_x ? 5 : 4, NULL);
}

/* y of `headwise layer` with this number of heads. */
static void read_layer(double y[ROWS * WIDTH], const char *heads, const char *tier) {
    cli_accepts("layer", "--weights", "w", "--input", "w", "--heads", heads, "-o", "y", "--isa",
                tier);
    headwise_safetensors *file = cli_open("y");
    const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, "y");
    assert_non_null(tensor);
    assert_int_equal(headwise_safetensors_read_f64(y, file, tensor), HEADWISE_OK);
    headwise_safetensors_close(file);
    unlink("y");
}

static double change_of(const double *y, const double *first) {
    double difference = 0, norm = 0;
    for (int i = 0; i < ROWS * WIDTH; i++) {
        difference += (y[i] - first[i]) * (y[i] - first[i]);
        norm += first[i] * first[i];
    }
    return sqrt(difference / norm);
}

static void outputs_are_compared(enum headwise_isa isa) {
    static const char *const heads[] = {"2", "4", "16"};
    const char *tier = headwise_isa_name(isa);
    struct table table;
    double first[ROWS * WIDTH], y[ROWS * WIDTH];
    write_layer("w", "", WIDTH, true);
    cli_accepts("sweep", "--weights", "w", "--heads", "2,4,16", "--threads", "1,2", "--repeat", "1",
                "--csv", "out.csv", "--isa", tier);
    read_csv(&table, "out.csv", RANK_GREATEST + 1);
    assert_int_equal(table.n, 6);
    read_layer(first, heads[0], tier);
    for (int i = 0; i < table.n; i++) {
        const double *row = table.rows[i];
        double size = WIDTH / row[HEADS], rank = size < ROWS ? size : ROWS;
        assert_true(row[LENGTH] == ROWS);
        assert_true(row[RANK_LEAST] == rank && row[RANK_GREATEST] == rank);
        read_layer(y, heads[i % 3], tier);
        double change = change_of(y, first);
        assert_true(i % 3 == 0 ? row[CHANGE] == 0 : change > 0.01);
        assert_true(fabs(row[CHANGE] - change) <= 1e-6 * change);
    }
    /* A prefix, the other layout, a length of one's own. */
    write_layer("w", "l0.", WIDTH, false);
    cli_accepts("sweep", "--weights", "w", "--prefix", "l0.", "--layout", "out_in", "--heads",
                "1,4", "--seq", "9", "--threads", "1", "--repeat", "1", "--csv", "out.csv", "--isa",
                tier);
    read_csv(&table, "out.csv", RANK_GREATEST + 1);
    assert_true(table.rows[1][LENGTH] == 9 && table.rows[1][RANK_LEAST] == 4 &&
                table.rows[0][RANK_LEAST] == 9);
    unlink("w");
}

/* The article's matrices, with the ranks that an independent program found. */
static void finds_the_articles_ranks(enum headwise_isa isa) {
    char path[1024];
    struct table table;
    if (!getenv("HEADWISE_VECTORS"))
        test_skip("HEADWISE_VECTORS is not set");
    snprintf(path, sizeof path, "%s/seeds/000_head_sweep.safetensors", getenv("HEADWISE_VECTORS"));
    cli_accepts("sweep", "--weights", path, "--heads", "1,2,4,8,16,32,64", "--threads", "1",
                "--repeat", "1", "--csv", "out.csv", "--isa", headwise_isa_name(isa));
    read_csv(&table, "out.csv", RANK_GREATEST + 1);
    assert_int_equal(table.n, 7);
    headwise_safetensors *file = cli_open(path);
    double first[12 * 64], y[12 * 64];
    for (int i = 0; i < table.n; i++) {
        char name[32];
        double ranks[64], difference = 0, norm = 0;
        snprintf(name, sizeof name, "h%d.head_out_rank", 1 << i);
        assert_int_equal(
            headwise_safetensors_read_f64(ranks, file, headwise_safetensors_find(file, name)),
            HEADWISE_OK);
        for (int h = 0; h < 1 << i; h++)
            assert_true(ranks[h] >= table.rows[i][RANK_LEAST] &&
                        ranks[h] <= table.rows[i][RANK_GREATEST]);
        snprintf(name, sizeof name, "h%d.out", 1 << i);
        assert_int_equal(headwise_safetensors_read_f64(i == 0 ? first : y, file,
                                                       headwise_safetensors_find(file, name)),
                         HEADWISE_OK);
        for (int e = 0; i > 0 && e < 12 * 64; e++) {
            difference += (y[e] - first[e]) * (y[e] - first[e]);
            norm += first[e] * first[e];
        }
        /* f32 outputs are good to about 1e-6 of themselves, differences of them to 1e-5. */
        if (i > 0)
            assert_true(fabs(table.rows[i][CHANGE] / sqrt(difference / norm) - 1) < 1e-5);
    }
    headwise_safetensors_close(file);
}

static void refuses_what_cannot_be_swept(enum headwise_isa isa) {
    (void)isa;
    write_layer("w", "", WIDTH, true);
    write_layer("narrow", "", 8, true);
    cli_refuses("option --heads: width 24 is not divisible by 5 heads", "sweep", "--d-model", "24",
                "--heads", "1,5");
    cli_refuses("option --heads has 2 after 4, expected increasing numbers", "sweep", "--heads",
                "1,4,2");
    cli_refuses("option --heads has 0, expected 1 to 65536", "sweep", "--heads", "0");
    cli_refuses("option --seq is \"12,\", expected integers with commas", "sweep", "--seq", "12,");
    cli_refuses("option --seq is \"1;2\"", "sweep", "--seq", "1;2");
    cli_refuses("option --threads has 2000, expected 1 to 1024", "sweep", "--threads", "1,2000");
    cli_refuses("option --csv is \"out\", expected another file than that of --svg", "sweep",
                "--csv", "out", "--svg", "out");
    cli_refuses("option --repeat", "sweep", "--repeat", "0");
    cli_refuses("option --layout is given without --weights", "sweep", "--layout", "in_out");
    cli_refuses("has no tensor \"x.W_Q\"", "sweep", "--weights", "w", "--prefix", "x.");
    cli_refuses("tensor \"W_K\": shape [16,8], expected [16,16]", "sweep", "--weights", "narrow");
    cli_refuses("option --layout is \"both\"", "sweep", "--weights", "w", "--layout", "both");
    cli_refuses("option --d-model is 24, but W_Q of w has 16 inputs", "sweep", "--weights", "w",
                "--d-model", "24");
    cli_refuses("no/such.csv", "sweep", "--d-model", "4", "--heads", "1", "--seq", "2", "--repeat",
                "1", "--csv", "no/such.csv");
    unlink("w");
    unlink("narrow");
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(rows_say_what_was_asked),
        TEST_CASE(outputs_are_compared),
        TEST_CASE(finds_the_articles_ranks),
        TEST_CASE(refuses_what_cannot_be_swept),
    };
    return cli_main_tiers(cases, TEST_COUNT(cases));
}
