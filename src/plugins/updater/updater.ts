/** Updates values of plugins' types, by programs of the plugins. */
import type { Logger } from 'pino'
import type { EventLog } from '../../events/service.ts'
import { CallbackFailed } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db, Queryable } from '../../platform/postgres/db.ts'
import { createPeriodic } from '../../platform/process/periodic.ts'
import { readExact } from '../../platform/values/exact-json.ts'
import type { createCallbacks } from '../callbacks/pre-save.ts'
import type { Updater } from '../manifest/model.ts'
import type { Plugin, PluginSnapshot } from '../model.ts'
import type { Caller } from '../run/call.ts'
import { mostLines } from '../run/log-lines.ts'
import { readUpdaterAnswer, type UpdaterAnswer, type UpdaterQuestion } from './protocol.ts'

/** The access to objects that an updater needs (objects/upkeep/custom-data.ts). */
export interface CustomDataStore {
  due(type: string, when: Due): Promise<number>
  next(type: string, when: Due, most: number): Promise<readonly StoredDatum[]>
  apply(
    type: string,
    given: readonly StoredDatum[],
    updated: readonly StoredDatum[],
    again: { readonly at: Date; readonly days: number },
  ): Promise<{ readonly updated: number; readonly merged: number }>
  refresh(type: string): Promise<number>
  removeUnused(type: string): Promise<void>
  /** null: another process has the run. `brokenOff`: the run before it was killed. */
  begin(type: string, seconds: number, total: number): Promise<{ readonly brokenOff: boolean } | null>
  goOn(type: string, seconds: number, done: number): Promise<void>
  end(from: Queryable, type: string): Promise<void>
}

/** The condition for due values: their time is over at that moment; values without a time are due so many days earlier. */
export interface Due {
  readonly at: Date
  readonly earlier: number
}

interface StoredDatum {
  readonly uuid: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface UpdaterOptions {
  readonly plugins: () => PluginSnapshot
  readonly caller: Caller
  readonly say: ReturnType<typeof createCallbacks>['say']
  readonly data: CustomDataStore
  readonly events: Pick<EventLog, 'append'>
  readonly db: Db
  readonly systemActor: () => Promise<Actor>
  readonly paused: () => boolean
  /** The value of a setting of a plugin. */
  readonly setting: (plugin: Plugin, section: string, parameter: string) => unknown
  readonly log: Logger
}

/** A run ends with its service. */
const neverAborted = AbortSignal.any([])

/** Milliseconds between two checks for due values. */
const lookEvery = 600_000
/** Seconds that a run is claimed beyond the time of its program. */
const afterwards = 120

interface Run {
  readonly plugin: Plugin
  readonly type: string
  readonly update: Updater
  readonly log: string[]
  readonly stats: { total: number; updated: number; de_duplicated: number }
  state: unknown
}

export function createUpdaters(options: UpdaterOptions) {
  const { plugins, caller, say, data, events, db, systemActor, paused, setting, log } = options

  async function ask(run: Run, question: Omit<UpdaterQuestion, 'state'>): Promise<UpdaterAnswer> {
    const { plugin, update } = run
    const request = {
      plugin,
      program: update.program,
      actor: await systemActor(),
      request: null,
      signal: neverAborted,
    }
    const answered = await caller.run(request, async (call) => {
      const asked = { ...question, state: run.state ?? {}, info: call.info }
      return say(call, update.program, Buffer.from(JSON.stringify(asked)))
    })
    const answer = readUpdaterAnswer(answered.body)
    if (answered.failed) throw new CallbackFailed('its program ended with an error')
    if (answer.state !== undefined) run.state = answer.state
    run.log.push(...answer.log.slice(0, mostLines - run.log.length))
    return answer
  }

  /** Seconds for which one step claims the run. */
  function holdOf({ update: { program } }: Run): number {
    return (program.seconds ?? 60) * program.commands.length + afterwards
  }

  /** Days after which values are updated again; 0: the settings of the plugin switch updates off. */
  function daysOf(plugin: Plugin, { interval, expiresDays }: Updater): number {
    const said = interval ? setting(plugin, interval.section, interval.parameter) : null
    return typeof said === 'number' && Number.isSafeInteger(said) && said >= 0 && said <= 36_500 ? said : expiresDays
  }

  async function refreshAll(run: Run, stopped: () => boolean): Promise<void> {
    while (!stopped() && (await data.refresh(run.type)) > 0) await data.goOn(run.type, holdOf(run), doneOf(run))
  }

  /** Returns whether there was anything to do. */
  async function steps(run: Run, when: Due, stopped: () => boolean, brokenOff: boolean): Promise<boolean> {
    // Values left by an earlier run.
    await refreshAll(run, stopped)
    // A run that was killed behind its last values has not told the plugin that it ended.
    if (run.stats.total === 0 && !brokenOff) return false
    await ask(run, { action: 'start_update' })
    for (let offset = 0; !stopped(); ) {
      const given = await data.next(run.type, when, run.update.batchSize)
      if (given.length === 0) break
      const objects = given.map(({ uuid, data: stored }) => ({ identifier: uuid, data: shown(stored, uuid) }))
      const answer = await ask(run, { action: 'update', objects, batch_info: { offset, total: run.stats.total } })
      if (answer.payload === null) break
      const known = new Set(given.map(({ uuid }) => uuid))
      const updated = answer.payload.map(({ identifier, data: said }) => {
        if (!known.delete(identifier))
          throw new CallbackFailed('its payload names a value that it was not given, or twice')
        return { uuid: identifier, data: said }
      })
      const outcome = await data.apply(run.type, given, updated, { at: when.at, days: run.update.expiresDays })
      run.stats.updated += outcome.updated
      run.stats.de_duplicated += outcome.merged
      offset += given.length
      await data.goOn(run.type, holdOf(run), offset)
      await refreshAll(run, stopped)
    }
    await ask(run, { action: 'end_update' })
    return true
  }

  async function runOf(plugin: Plugin, name: string, update: Updater, stopped: () => boolean, at: Date): Promise<void> {
    const type = `${plugin.name}.${name}`
    const days = daysOf(plugin, update)
    if (days === 0) return
    const when = { at, earlier: update.expiresDays - days }
    const total = await data.due(type, when)
    const run: Run = { plugin, type, update, log: [], stats: { total, updated: 0, de_duplicated: 0 }, state: undefined }
    const begun = await data.begin(type, holdOf(run), total)
    if (!begun) return
    try {
      const worked = await steps(run, when, stopped, begun.brokenOff)
      await data.removeUnused(type)
      if (worked) await endTold(run, null)
      else await data.end(db, type)
    } catch (error) {
      const reason = `${type} ${error instanceof Error ? error.message : String(error)}`
      log.warn({ plugin: plugin.name, type, err: error }, 'values of a type could not be brought up to date')
      await endTold(run, reason)
    }
  }

  /** Ends a run, together with the event of its end. */
  async function endTold({ type, log: lines, stats }: Run, error: string | null): Promise<void> {
    const info = { type, log: lines, stats, ...(error === null ? {} : { error }) }
    const actor = await systemActor()
    const name = error === null ? 'CUSTOM_DATA_TYPE_UPDATER' : 'CUSTOM_DATA_TYPE_UPDATER_ERROR'
    await db.transaction(async (tx) => {
      await events.append(tx, [{ type: name, actor, info }])
      await data.end(tx, type)
    })
  }

  return createPeriodic({
    every: lookEvery,
    paused,
    async work(stopped, at = new Date()) {
      for (const plugin of plugins().enabled) {
        for (const [name, { update }] of plugin.manifest.customTypes) {
          if (update && !stopped()) await runOf(plugin, name, update, stopped, at)
        }
      }
    },
    onFailure: (error) => log.warn({ err: error }, 'values of plugins could not be looked at'),
  })
}

const doneOf = ({ stats }: Run): number => stats.updated + stats.de_duplicated

function shown(stored: StoredDatum['data'], uuid: string): StoredDatum['data'] {
  return { ...(readExact(stored) as StoredDatum['data']), _uuid: uuid }
}
