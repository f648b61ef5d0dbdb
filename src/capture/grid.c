/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time grid × sequence.
 *
 * Time: a filter holds the moment the last frame was due (phase) and the real length of an interval. Both start with the gains of
 * a fit over everything seen so far and end with small constant ones, so that a 59.94 Hz device on a
 * nominal 60 is learnt within seconds and jitter of ±40 % of an interval does not move the grid.
 *
 * Decision for a frame that comes r intervals after the phase while the sequence advanced by s:
 *   s < 1                  frozen or reset: time counts.
 *   s > r + 0.85           the sequence claims frames there was no time for: time counts.
 *   s ≥ r − 0.75           they agree within jitter: the sequence counts.
 *   s < r − 0.75, starved  a driver that does not count what it had no buffer for: time counts.
 *   s < r − 0.75           a late stamp, or a loss the driver did not count. One frame cannot tell; the next can: if it is as
 *                          late, the grid really moved and the missing frames are booked before it; if it is back on the grid,
 *                          the stamp was late. Hence a loss of this kind shows one frame later than it happened.
 *
 * Rejected: adding up nominal intervals from frame 0. At 59.94 against 60 that invents a lost frame every 17 seconds.
 */
#include "capture/grid.h"

#define EXCESS_LIMIT  0.85 /* sequence ahead of time, intervals */
#define DEFICIT_LIMIT 0.75 /* time ahead of sequence, intervals */
/* With guessed times whole bursts are dequeued at one moment: up to all of a driver's buffers. */
#define GUESSED_EXCESS_LIMIT 64.85
#define RATE_LIMIT           0.01
#define PHASE_GAIN_FLOOR     (1.0 / 128)
#define RATE_GAIN_FLOOR      (1.0 / 65536)
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

static uint32_t anomaly_bit(enum sl_anomaly anomaly)
{
    return UINT32_C(1) << anomaly;
}

static bool foreign_clock(const struct sl_grid *grid, const struct sl_grid_input *input)
{
    int64_t reference = grid->started ? grid->last_ns : input->dequeued_ns;

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
    else if (grid->started && input->time_ns < grid->stamp_ns)
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
    if (grid->started && step->time_ns < grid->last_ns)
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

    if (guessed || deficit < DEFICIT_LIMIT) {
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

/* How many intervals after the last frame this one is. */
static uint64_t decide(struct sl_grid *grid, const struct sl_grid_input *input, double elapsed, struct sl_grid_step *step)
{
    uint32_t advance = input->sequence - grid->sequence;
    uint64_t by_time = elapsed < 1 ? 1 : rounded(elapsed);
    double limit = step->time_guessed ? GUESSED_EXCESS_LIMIT : EXCESS_LIMIT;

    if (advance == 0)
        step->anomalies |= anomaly_bit(SL_ANOMALY_SEQUENCE_FROZEN);
    else if (advance > INT32_MAX)
        step->anomalies |= anomaly_bit(SL_ANOMALY_SEQUENCE_RESET);
    else if (advance > elapsed + limit && advance > 1)
        step->anomalies |= anomaly_bit(SL_ANOMALY_SEQUENCE_JUMP);
    else
        return advance + believe_deficit(grid, elapsed - advance, step->time_guessed, input->starved);
    grid->suspected = 0;
    return by_time;
}

static double at_least(double gain, double floor)
{
    return gain < floor ? floor : gain;
}

/* Moves the phase on by `steps` intervals and learns from how far the stamp was off. */
static void track(struct sl_grid *grid, int64_t time_ns, uint64_t steps)
{
    double ahead = (double)steps * grid->interval_ns;
    double off = (double)(time_ns - grid->phase_ns) - ahead;
    double off_intervals = off / grid->interval_ns;
    double correction = 0;

    if (steps > 1 && (off_intervals > 0.25 || off_intervals < -0.25) && grid->phase_steps > 4)
        grid->phase_steps = 4; /* after a gap the device may go on at another phase: learn it quickly */
    if (off_intervals < DEFICIT_LIMIT && off_intervals > -EXCESS_LIMIT) {
        double phase_frames = ++grid->phase_steps;
        double rate_frames = ++grid->rate_steps;

        correction = off * at_least(1 / (phase_frames + 1), PHASE_GAIN_FLOOR);
        grid->interval_ns += off / (double)steps * at_least(6 / ((rate_frames + 1) * (rate_frames + 2)), RATE_GAIN_FLOOR);
        if (grid->interval_ns > grid->nominal_ns * (1 + RATE_LIMIT))
            grid->interval_ns = grid->nominal_ns * (1 + RATE_LIMIT);
        if (grid->interval_ns < grid->nominal_ns * (1 - RATE_LIMIT))
            grid->interval_ns = grid->nominal_ns * (1 - RATE_LIMIT);
    }
    grid->phase_ns += (int64_t)(ahead + correction + 0.5);
}

void sl_grid_place(struct sl_grid *grid, const struct sl_grid_input *input, struct sl_grid_step *step)
{
    uint64_t steps = 1;

    *step = (struct sl_grid_step){.cause = input->starved ? SL_LOSS_NO_SLOT : SL_LOSS_SENSOR_GAP};
    judge_time(grid, input, step);
    if (grid->started) {
        steps = decide(grid, input, (double)(step->time_ns - grid->phase_ns) / grid->interval_ns, step);
        track(grid, step->time_ns, steps);
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

uint64_t sl_grid_due(const struct sl_grid *grid, int64_t until_ns)
{
    double late = (double)(until_ns + DUE_SLACK_NS - grid->phase_ns) / grid->interval_ns;

    return grid->started && late > 0 ? (uint64_t)late : 0;
}
