/** Exports as answered, with the results of their latest runs. */
import type { Actor } from '../platform/actor.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import type { Seal } from '../platform/secrets/seal.ts'
import type { Person, RightsService } from '../rights/service.ts'
import { filesOfRuns } from './files.ts'
import type { StoredExport, StoredTransport } from './model.ts'
import { type ExportContext, renderExport } from './render.ts'
import { findRuns, type Run } from './runs.ts'
import type { ExportOutput } from './schema.ts'
import { openedOptions } from './transports/draft.ts'
import type { Options } from './transports/options.ts'

/** The events in the answer: all (`long`), those of the latest run, or none. */
export type LogFormat = 'short' | 'standard' | 'long'

export interface ShowDeps {
  readonly db: Queryable
  readonly seal: Pick<Seal, 'open'>
  readonly rights: Pick<RightsService, 'whoNames'>
  /** Events about an export, oldest first. */
  readonly eventsOf: (id: number, options: { readonly since: Date | null }) => Promise<readonly unknown[]>
  readonly externalUrl: string
}

/** Shows exports, each with at most so many of its files. */
export type ShowExports = ReturnType<typeof createShow>

export function createShow({ db, seal, rights, eventsOf, externalUrl }: ShowDeps) {
  /** Lists have no log, so this is read for one export at most. */
  async function logOf({ id }: StoredExport, run: Run | null, log: LogFormat): Promise<readonly unknown[]> {
    if (log === 'short' || (log === 'standard' && !run)) return []
    return eventsOf(id, { since: log === 'long' ? null : (run?.createdAt ?? null) })
  }

  async function openedAll(transports: readonly StoredTransport[]): Promise<Map<string, Options | null>> {
    const opened = transports.map(async (one) => [one.uuid, await openedOptions(seal, one)] as const)
    return new Map(await Promise.all(opened))
  }

  return async function show(
    actor: Actor,
    exports: readonly StoredExport[],
    log: LogFormat,
    most: number,
  ): Promise<ExportOutput[]> {
    const runIds = exports.flatMap(({ runId }) => runId ?? [])
    const who = exports.flatMap(({ userId, transports }): Person[] => [
      `u${userId}`,
      ...transports.flatMap(({ email }) => email?.recipients ?? []),
    ])
    const [files, known, names] = await Promise.all([
      filesOfRuns(db, runIds, most),
      findRuns(db, runIds),
      rights.whoNames(db, who, actor.languages),
    ])
    const options = await openedAll(exports.flatMap(({ transports }) => transports))
    const byRun = Map.groupBy(files, ({ runId }) => runId)
    const runOf = new Map(known.map((run) => [run.id, run]))
    return Promise.all(
      exports.map(async (stored) => {
        const own = byRun.get(stored.runId ?? 0) ?? []
        const run = runOf.get(stored.runId ?? 0) ?? null
        const around: ExportContext = {
          run,
          files: own,
          filesCount: run?.fileCount ?? 0,
          log: await logOf(stored, run, log),
          names,
          options,
          externalUrl,
        }
        return renderExport(stored, around)
      }),
    )
  }
}
