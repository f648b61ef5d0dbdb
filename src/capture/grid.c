/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time grid × sequence.
 *
 * Time: a filter holds the moment the last frame was due (phase) and the real length of an interval. Both start with the gains of
 * a straight line fitted to everything seen so far and end with small constant ones, so that a 59.94 Hz device on a
 * nominal 60 is learnt within seconds and jitter of ±40 % of an interval does not move the grid.
 *
 * Decision for a frame that comes r intervals after the phase while the sequence advanced by s:
 *   s < 1                  frozen or reset: time counts.
 *   s > r + 0.85           the sequence claims frames there was no time for: time counts.
 *   s ≥ r − 0.85           they agree within jitter: the sequence counts.
 *   s < r − 0.60, starved  a driver that does not count what it had no buffer for: time counts.
 *   s < r − 0.85           a late stamp, or a loss the driver did not count. One frame cannot tell; the next can: if it is as
 *                          late, the grid really moved and the missing frames are booked before it; if it is back on the grid,
 *                          the stamp was late. Hence a loss of this kind shows one frame later than it happened.
 *
 * A sequence that stands still for a frame and then skips one (software sensors on a busy machine) has lost nothing: for a second
 * after it stood still, a skip may make up for that, if time agrees better with it.
 *
 * Rejected: adding up nominal intervals from frame 0. At 59.94 against 60 that invents a lost frame every 17 seconds.
 */
#include "capture/grid.h"

#define EXCESS_LIMIT  0.85 /* sequence ahead of time, intervals */
#define DEFICIT_LIMIT 0.85 /* time ahead of sequence, intervals */
#define STARVED_LIMIT 0.6  /* the same when a loss is likely anyway */
/* With guessed times whole bursts are dequeued at one moment: up to all of a driver's buffers. */
#define GUESSED_EXCESS_LIMIT 64.85
#define REPEATED_MAX         8
#define REPEATED_FRAMES      64 /* for so long a skip may make up for a repetition */
#define RATE_LIMIT           0.01
#define AHEAD_LIMIT          1.2 /* intervals the grid may be ahead of the stamps */
#define RELOCK_LIMIT         0.42
#define RELOCK_STEPS         16
#define FIT_HEAD_START       3 /* frames that the nominal rate counts for */
#define PHASE_GAIN_FLOOR     (1.0 / 64)
#define RATE_GAIN_FLOOR      (1.0 / 16384) /* a quarter of its square: critically damped */
#define FUTURE_LIMIT_NS      SL_NS_PER_S
#define PAST_LIMIT_NS        (10 * SL_NS_PER_S)
/* A frame is due when its time has come, give or take the rounding of the filter. */
#define DUE_SLACK_NS 1000

void sl_grid_init(struct sl_grid *grid, struct sl_rational fps, bool own_times)
{
    *grid = (struct sl_grid){
        .nominal_ns = (double)SL_NS_PER_S * fps.den / fps.num,
        .interval_ns = (double)SL_NS_PER_S * fps.den / fps.num,
        .own_times = own_times,
    };
}

void sl_grid_go_on(struct sl_grid *grid, uint64_t next, int64_t due_ns)
{
    grid->goes_on = true;
    grid->next = next;
    grid->due_ns = due_ns;
    grid->last_ns = due_ns - (int64_t)grid->interval_ns;
}

static uint32_t anomaly_bit(enum sl_anomaly anomaly)
{
    return UINT32_C(1) << anomaly;
}

static bool foreign_clock(const struct sl_grid *grid, const struct sl_grid_input *input)
{
    int64_t reference = grid->started || grid->goes_on ? grid->last_ns : input->dequeued_ns;

    if (grid->own_times)
        return false;
    return input->time_ns > input->dequeued_ns + FUTURE_LIMIT_NS || input->time_ns < reference - PAST_LIMIT_NS;
}

/* Writes the frame's time; what is wrong with the stamp goes into step->anomalies. */
static void judge_time(struct sl_grid *grid, const struct sl_grid_input *input, struct sl_grid_step *step)
{
    step->time_guessed = true;
    if (input->time_unusable)
        ; /* known from the device's flags: no news */
    else if (foreign_clock(grid, input))
        step->anomalies |= anomaly_bit(SL_ANOMALY_TIME_FOREIGN_CLOCK);
    else if (grid->started && input->time_ns == grid->stamp_ns)
        step->anomalies |= anomaly_bit(SL_ANOMALY_TIME_FROZEN);
    else if (input->time_ns < (grid->started ? grid->stamp_ns : grid->goes_on ? grid->last_ns : INT64_MIN))
        step->anomalies |= anomaly_bit(SL_ANOMALY_TIME_BACKWARD);
    else
        step->time_guessed = false;

    grid->stamp_ns = input->time_ns;
    if (!step->time_guessed)
        step->time_ns = input->time_ns;
    else if (grid->own_times && grid->started)
        step->time_ns = grid->phase_ns + (int64_t)grid->interval_ns;
    else
        step->time_ns = input->dequeued_ns;
    if ((grid->started || grid->goes_on) && step->time_ns < grid->last_ns)
        step->time_ns = grid->last_ns; /* times never run backwards downstream */
}

static uint64_t rounded(double value)
{
    return value > 0 ? (uint64_t)(value + 0.5) : 0;
}

/* Time is `deficit` intervals ahead of a sequence that advanced: how many of them are to be believed now? */
static uint64_t believe_deficit(struct sl_grid *grid, double deficit, bool guessed, bool starved)
{
    uint64_t late = rounded(deficit);
    uint64_t believed = 0;

    if (guessed || deficit < (starved ? STARVED_LIMIT : DEFICIT_LIMIT)) {
        grid->suspected = 0;
        return 0;
    }
    if (starved)
        believed = late;
    else if (grid->suspected && late >= grid->suspected)
        believed = grid->suspected;
    grid->suspected = late - believed;
    return believed;
}

static double distance(double a, double b)
{
    return a > b ? a - b : b - a;
}

/* The advance of a sequence that moves, less what it only makes up for. */
static uint32_t real_advance(struct sl_grid *grid, uint32_t advance, double elapsed)
{
    uint32_t most = advance - 1 < grid->repeated ? advance - 1 : grid->repeated;
    uint32_t best = 0;

    for (uint32_t paid = 1; paid <= most; paid++)
        if (distance(elapsed, advance - paid) < distance(elapsed, advance - best))
            best = paid;
    grid->repeated = ++grid->repeat_age > REPEATED_FRAMES ? 0 : grid->repeated - best;
    return advance - best;
}

static void stood_still(struct sl_grid *grid, uint64_t frames)
{
    uint64_t repeated = grid->repeated + frames;

    grid->repeated = repeated > REPEATED_MAX ? REPEATED_MAX : (uint32_t)repeated;
    grid->repeat_age = 0;
}

/* How many intervals after the last frame this one is. */
static uint64_t decide(struct sl_grid *grid, const struct sl_grid_input *input, double elapsed, struct sl_grid_step *step)
{
    uint32_t advance = input->sequence - grid->sequence;
    uint64_t by_time = elapsed < 1 ? 1 : rounded(elapsed);
    double limit = step->time_guessed ? GUESSED_EXCESS_LIMIT : EXCESS_LIMIT;

    if (advance == 0) {
        step->anomalies |= anomaly_bit(SL_ANOMALY_SEQUENCE_FROZEN);
        stood_still(grid, by_time);
        grid->suspected = 0;
        return by_time;
    }
    if (advance <= INT32_MAX) {
        uint32_t real = real_advance(grid, advance, elapsed);

        if (real == 1 || real <= elapsed + limit)
            return real + believe_deficit(grid, elapsed - real, step->time_guessed, input->starved);
        step->anomalies |= anomaly_bit(SL_ANOMALY_SEQUENCE_JUMP);
    } else {
        step->anomalies |= anomaly_bit(SL_ANOMALY_SEQUENCE_RESET);
    }
    grid->repeated = 0;
    grid->suspected = 0;
    return by_time;
}

static double at_least(double gain, double floor)
{
    return gain < floor ? floor : gain;
}

/* How early a stamp may be and still be taken as it is. After a repetition the grid is ahead of time, and right. */
static double early_limit(const struct sl_grid *grid)
{
    if (!grid->repeated)
        return EXCESS_LIMIT;
    return grid->repeat_age ? 0.4 : 0.5;
}

/* Learns from a stamp that is `off` intervals from where it should be. Returns by how much the phase is to be corrected. */
static double learn(struct sl_grid *grid, double off, uint64_t steps)
{
    double p = ++grid->phase_steps + FIT_HEAD_START;
    double r = ++grid->rate_steps + FIT_HEAD_START;
    double slowest = grid->nominal_ns * (1 + RATE_LIMIT);
    double fastest = grid->nominal_ns * (1 - RATE_LIMIT);

    grid->interval_ns += off * grid->interval_ns / (double)steps * at_least(6 / ((r + 1) * (r + 2)), RATE_GAIN_FLOOR);
    if (grid->interval_ns < fastest)
        grid->interval_ns = fastest;
    if (grid->interval_ns > slowest) {
        grid->interval_ns = slowest;
        if (off > 0) /* slower than is believed: what does not come is missing */
            return 0;
    }
    return off * at_least((4 * p + 2) / ((p + 1) * (p + 2)), PHASE_GAIN_FLOOR);
}

/* Moves the phase on by `steps` intervals and learns from how far the stamp was off. */
static void track(struct sl_grid *grid, int64_t time_ns, uint64_t steps)
{
    double ahead = (double)steps * grid->interval_ns;
    double off = ((double)(time_ns - grid->phase_ns) - ahead) / grid->interval_ns;
    double correction = 0;
    bool owes = grid->repeated && grid->repeat_age;

    if (steps > 1 && distance(off, 0) > RELOCK_LIMIT && grid->phase_steps > RELOCK_STEPS)
        grid->phase_steps = RELOCK_STEPS; /* after a gap the device may go on at another phase: learn it sooner */
    if (off < DEFICIT_LIMIT && off > -early_limit(grid))
        correction = learn(grid, off, steps);
    else if (off < -AHEAD_LIMIT && !owes)
        correction = off + AHEAD_LIMIT; /* faster than is believed: the grid must not run away, or it would hide gaps */
    else if (off < 0 && !owes)
        correction = -EXCESS_LIMIT * PHASE_GAIN_FLOOR;
    grid->phase_ns += (int64_t)((double)steps * grid->interval_ns + correction * grid->interval_ns + 0.5);
}

/* The first frame of a grid that goes on: how many intervals after the one that came last before the outage. The device starts anew
 * at any phase; how far that is from the run's own is kept, so that outages do not add up to a drift. */
static uint64_t join(struct sl_grid *grid, int64_t time_ns)
{
    uint64_t missing = rounded((double)(time_ns - grid->due_ns) / grid->interval_ns);

    grid->phase_ns = time_ns;
    grid->shift_ns = time_ns - grid->due_ns - (int64_t)((double)missing * grid->interval_ns + 0.5);
    return missing + 1;
}

void sl_grid_place(struct sl_grid *grid, const struct sl_grid_input *input, struct sl_grid_step *step)
{
    uint64_t steps = 1;

    *step = (struct sl_grid_step){.cause = input->starved ? SL_LOSS_NO_SLOT : SL_LOSS_SENSOR_GAP};
    judge_time(grid, input, step);
    if (grid->started) {
        steps = decide(grid, input, (double)(step->time_ns - grid->phase_ns) / grid->interval_ns, step);
        track(grid, step->time_ns, steps);
    } else if (grid->goes_on) {
        steps = join(grid, step->time_ns);
        step->cause = SL_LOSS_DEVICE_GONE;
    } else {
        grid->phase_ns = step->time_ns;
    }
    step->missing = steps - 1;
    step->number = grid->next + step->missing;
    grid->next = step->number + 1;
    grid->sequence = input->sequence;
    grid->last_ns = step->time_ns;
    grid->started = true;
}

int64_t sl_grid_next_due_ns(const struct sl_grid *grid)
{
    return grid->started ? grid->phase_ns + (int64_t)grid->interval_ns - grid->shift_ns : grid->due_ns;
}

uint64_t sl_grid_due(const struct sl_grid *grid, int64_t until_ns)
{
    double late = (double)(until_ns + DUE_SLACK_NS - grid->phase_ns) / grid->interval_ns;

    return grid->started && late > 0 ? (uint64_t)late : 0;
}
