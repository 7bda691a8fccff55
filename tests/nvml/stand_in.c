/* A stand-in for NVIDIA's libnvidia-ml: answers as the file $NVML_STAND_IN says, read anew at each
   question.

   A line is "key value": driver, cuda, count, init, and of each card "0.name", "0.total" and so on.
   The value "!15" is NVML's error 15, and "~3 value" waits three seconds first. What is not in the
   file is refused as not supported; the key "0" stands before everything about card 0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, TOO_SMALL = 7, LONGEST = 4096 };
enum { MOST_CARDS = 16 };

typedef struct { int index; } Card;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } MemoryV2;
typedef struct { unsigned version; int sensor; int temperature; } Temperature;
typedef struct { unsigned pid; unsigned long long memory; unsigned instance, compute; } Process;
typedef struct { unsigned gpu, memory; } Utilization;

static Card cards[MOST_CARDS];
static int opened;

/* The value behind a key, after its wait; NVML's code when it is an error or not there. */
static int value_of(const char *key, char *value) {
    const char *path = getenv("NVML_STAND_IN");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[LONGEST], *rest = NULL;
    size_t length = strlen(key);
    while (file && !rest && fgets(line, sizeof line, file))
        if (!strncmp(line, key, length) && (line[length] == ' ' || line[length] == '\n'))
            rest = line + length + (line[length] == ' ');
    if (file) fclose(file);
    if (!rest) return NOT_SUPPORTED;
    rest[strcspn(rest, "\n")] = 0;
    if (*rest == '~') {
        usleep((useconds_t)(1e6 * strtod(rest + 1, &rest)));
        while (*rest == ' ') rest++;
    }
    if (*rest == '!') return atoi(rest + 1);
    strcpy(value, rest);
    return SUCCESS;
}

static int about(const Card *card, const char *what, char *value) {
    char key[64];
    int code;
    if (!opened) return UNINITIALIZED;
    if (!card || card->index < 0 || card->index >= MOST_CARDS) return INVALID;
    snprintf(key, sizeof key, "%d", card->index);
    code = value_of(key, value);
    if (code != SUCCESS && code != NOT_SUPPORTED) return code;
    snprintf(key, sizeof key, "%d.%s", card->index, what);
    return value_of(key, value);
}

static int text(const Card *card, const char *what, char *out, unsigned size) {
    char value[LONGEST];
    int code = card ? about(card, what, value) : value_of(what, value);
    if (!code) snprintf(out, size, "%s", value);
    return code;
}

static int number(const Card *card, const char *what, unsigned long long *out) {
    char value[LONGEST];
    int code = card ? about(card, what, value) : value_of(what, value);
    if (!code) *out = strtoull(value, NULL, 10);
    return code;
}

static int small(const Card *card, const char *what, unsigned *out) {
    unsigned long long value = 0;
    int code = number(card, what, &value);
    if (!code) *out = (unsigned)value;
    return code;
}

/* ---- The driver ---- */

int nvmlInitWithFlags(unsigned flags) {
    char value[LONGEST];
    int code = value_of("init", value);
    (void)flags;
    if (code && code != NOT_SUPPORTED) return code;
    opened++;
    return SUCCESS;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) {
    if (!opened) return UNINITIALIZED;
    opened--;
    return SUCCESS;
}
const char *nvmlErrorString(int code) { return code == 15 ? "GPU is lost" : "Some error"; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { return text(NULL, "driver", out, size); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { return small(NULL, "cuda", (unsigned *)out); }
int nvmlSystemGetCudaDriverVersion(int *out) { return small(NULL, "cuda", (unsigned *)out); }
int nvmlDeviceGetCount_v2(unsigned *out) {
    return opened ? small(NULL, "count", out) : UNINITIALIZED;
}

/* ---- A card ---- */

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Card **out) {
    char value[LONGEST];
    int code;
    if (index >= MOST_CARDS) return INVALID;
    cards[index].index = (int)index;
    code = about(&cards[index], "handle", value);
    *out = &cards[index];
    return code == NOT_SUPPORTED ? SUCCESS : code;
}
int nvmlDeviceGetName(Card *card, char *out, unsigned size) { return text(card, "name", out, size); }
int nvmlDeviceGetUUID(Card *card, char *out, unsigned size) { return text(card, "uuid", out, size); }

int nvmlDeviceGetCudaComputeCapability(Card *card, int *major, int *minor) {
    char value[LONGEST];
    int code = about(card, "capability", value);
    if (!code) sscanf(value, "%d.%d", major, minor);
    return code;
}

int nvmlDeviceGetMemoryInfo(Card *card, Memory *out) {
    char value[LONGEST];
    int code = about(card, "memory", value);
    if (!code) sscanf(value, "%llu %llu %llu", &out->total, &out->used, &out->free);
    return code;
}

int nvmlDeviceGetMemoryInfo_v2(Card *card, MemoryV2 *out) {
    char value[LONGEST];
    int code = about(card, "memory_v2", value);
    if (out->version != (sizeof(MemoryV2) | 2u << 24)) return 25;
    if (!code)
        sscanf(value, "%llu %llu %llu %llu", &out->total, &out->used, &out->free, &out->reserved);
    return code;
}

int nvmlDeviceGetUtilizationRates(Card *card, Utilization *out) {
    return small(card, "busy", &out->gpu);
}
int nvmlDeviceGetTemperatureV(Card *card, Temperature *out) {
    return small(card, "temperature", (unsigned *)&out->temperature);
}
int nvmlDeviceGetTemperature(Card *card, int sensor, unsigned *out) {
    (void)sensor;
    return small(card, "temperature", out);
}
int nvmlDeviceGetPowerUsage(Card *card, unsigned *out) { return small(card, "power", out); }
int nvmlDeviceGetEnforcedPowerLimit(Card *card, unsigned *out) {
    return small(card, "power_limit", out);
}
int nvmlDeviceGetClockInfo(Card *card, int which, unsigned *out) {
    return small(card, which == 1 ? "clock" : which == 2 ? "memory_clock" : "other_clock", out);
}
int nvmlDeviceGetCurrPcieLinkGeneration(Card *card, unsigned *out) {
    return small(card, "pcie_generation", out);
}
int nvmlDeviceGetCurrPcieLinkWidth(Card *card, unsigned *out) {
    return small(card, "pcie_lanes", out);
}
int nvmlDeviceGetPcieThroughput(Card *card, int way, unsigned *out) {
    return small(card, way == 0 ? "sent" : "received", out);
}
int nvmlDeviceGetMigMode(Card *card, unsigned *current, unsigned *pending) {
    int code = small(card, "mig", current);
    *pending = *current;
    return code;
}
int nvmlDeviceGetDriverModel(Card *card, unsigned *current, unsigned *pending) {
    int code = small(card, "model", current);
    *pending = *current;
    return code;
}
int nvmlDeviceGetDriverModel_v2(Card *card, unsigned *current, unsigned *pending) {
    return nvmlDeviceGetDriverModel(card, current, pending);
}

/* "7:1024,8:?" is process 7 with 1024 bytes, and 8 with nobody knows how many. */
static int processes(const Card *card, const char *what, unsigned *count, Process *out) {
    char value[LONGEST];
    unsigned room = *count;
    int code = about(card, what, value);
    *count = 0;
    if (code) return code;
    for (char *each = strtok(value, ","); each; each = strtok(NULL, ",")) {
        char *amount = strchr(each, ':') + 1;
        if (*count < room) {
            out[*count].pid = (unsigned)strtoul(each, NULL, 10);
            out[*count].memory = *amount == '?' ? ~0ull : strtoull(amount, NULL, 10);
            out[*count].instance = out[*count].compute = ~0u;
        }
        ++*count;
    }
    return *count > room ? TOO_SMALL : SUCCESS;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Card *card, unsigned *count, Process *out) {
    return processes(card, "processes", count, out);
}
int nvmlDeviceGetComputeRunningProcesses_v2(Card *card, unsigned *count, Process *out) {
    return processes(card, "processes", count, out);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(Card *card, unsigned *count, Process *out) {
    return processes(card, "drawing", count, out);
}
int nvmlDeviceGetGraphicsRunningProcesses_v2(Card *card, unsigned *count, Process *out) {
    return processes(card, "drawing", count, out);
}
