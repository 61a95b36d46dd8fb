/** Lets a plugin change the result of a run: its files, its log, and its final state. */
import { CallbackFailed } from '../../objects/service.ts'
import { AppError } from '../../platform/errors.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { NoPlace } from '../../plugins/service.ts'
import { keyOfPath } from '../files.ts'
import { pathOf } from '../model.ts'
import {
  addMadeFiles,
  changeFiles,
  countAnew,
  knownFiles,
  type NewExportFile,
  type PluginExportFile,
  removeOtherFiles,
} from '../plugin-files.ts'
import { setPluginLog } from '../runs.ts'
import { pluginOf } from './formats.ts'
import { whileRunning } from './hold.ts'
import type { Done, RunDeps, Running } from './model.ts'
import { CannotRun } from './over.ts'
import { type AnsweredFile, readPluginAnswer } from './plugin-answer.ts'
import { documentOf } from './plugin-document.ts'
import { stepAfter } from './steps.ts'

const unknownType = 'application/octet-stream'

export async function askPlugin(deps: RunDeps, running: Running, signal: AbortSignal): Promise<Done> {
  const { stored, run } = running
  const next = { step: stepAfter(stored.body, run.step), position: 0 }
  const name = pluginOf(stored.body)
  // A run without results has nothing to change.
  if (name === null || run.total === 0) return next
  const body = await answerOf(deps, running, name, signal)
  const wrong = (text: string): CannotRun => new CannotRun(`The plugin ${name} ${text}.`)
  const { state, log, files } = readPluginAnswer(body, stored, wrong)
  const fail = (text: string): CannotRun => new CannotRun(`The plugin ${name} ${text}.`, { pluginLog: log })
  if (state === 'failed') throw fail('says that it has failed')
  const changes = files === null ? null : await changesOf(deps, run.id, files, fail)
  const warning = `The plugin ${name} has warnings, which are in its log.`
  return {
    ...next,
    warnings: state === 'done' ? [] : [warning],
    async write(tx: Tx) {
      await setPluginLog(tx, stored.id, log)
      if (!changes) return
      await removeOtherFiles(tx, run.id, changes.kept)
      await changeFiles(tx, run.id, changes.changed)
      await addMadeFiles(tx, run.id, changes.made)
      await countAnew(tx, run.id)
    },
  }
}

/** @throws {CannotRun} the failure of the program @throws {RunOver} */
async function answerOf(
  deps: RunDeps,
  { stored, run, actor }: Running,
  name: string,
  signal: AbortSignal,
): Promise<unknown> {
  using going = whileRunning(deps, run, signal)
  try {
    const document = () => documentOf(deps, { stored, runId: run.id, owner: actor })
    return await deps.plugins.ask('export', { name, actor, document, signal: going.signal })
  } catch (error) {
    going.assertGoesOn()
    const message = `The plugin ${name} ${(error as Error).message}`
    if (error instanceof NoPlace) throw new AppError('ServiceUnavailable', {}, { message, cause: error })
    if (error instanceof CallbackFailed) throw new CannotRun(`${message}.`)
    throw error
  }
}

interface Changes {
  readonly kept: readonly number[]
  readonly changed: readonly PluginExportFile[]
  readonly made: readonly NewExportFile[]
}

/** The changes to be written to the files, by the answer of the plugin. @throws the result of `fail` */
async function changesOf(
  deps: RunDeps,
  runId: number,
  files: readonly AnsweredFile[],
  fail: (text: string) => Error,
): Promise<Changes> {
  assertApart(files, fail)
  const known = await knownFiles(deps.db, runId, {
    ids: files.flatMap(({ id }) => id ?? []),
    keys: files.flatMap(({ id, formerPath }) => (id === null && formerPath !== null ? [keyOfPath(formerPath)] : [])),
  })
  const byId = new Map(known.map((file) => [file.id, file]))
  const byKey = new Map(known.map((file) => [keyOfPath(pathOf(file)), file]))
  const kept = new Set<number>()
  const changed: PluginExportFile[] = []
  const made: NewExportFile[] = []
  for (const file of files) {
    const before = file.id === null ? byKey.get(keyOfPath(file.formerPath ?? '')) : byId.get(file.id)
    if (file.id !== null && !before) throw fail(`answered a file ${file.id}, which the export does not have`)
    if (before && kept.has(before.id)) throw fail(`answered the file ${pathOf(before)} twice`)
    if (before) kept.add(before.id)
    if (!file.action && (!before || before.kind === 'plugin')) {
      throw fail(`answered the file ${file.path} without a plugin_action: it has no content`)
    }
    const wanted = { ...placeOf(file.path), hidden: file.hidden, action: file.action || null }
    const mimeType = file.contentType ?? before?.mimeType ?? unknownType
    if (!before) made.push({ ...wanted, mimeType })
    else if (differs({ ...wanted, mimeType }, before)) changed.push({ ...before, ...wanted, mimeType })
  }
  return { kept: [...kept], changed, made }
}

function differs(wanted: NewExportFile, before: PluginExportFile): boolean {
  return (['folder', 'name', 'mimeType', 'hidden', 'action'] as const).some((name) => wanted[name] !== before[name])
}

function placeOf(path: string): { readonly folder: string; readonly name: string } {
  const slash = path.lastIndexOf('/')
  return { folder: path.slice(0, Math.max(0, slash)), name: path.slice(slash + 1) }
}

/** Checks that no path occurs twice, and that no file has the path of a folder. */
function assertApart(files: readonly AnsweredFile[], fail: (text: string) => Error): void {
  const paths = new Set<string>()
  const folders = new Set<string>()
  for (const { path } of files) {
    const key = keyOfPath(path)
    if (paths.has(key)) throw fail(`answered two files ${path}`)
    paths.add(key)
    for (let at = key.indexOf('/'); at !== -1; at = key.indexOf('/', at + 1)) folders.add(key.slice(0, at))
  }
  const both = [...paths].find((key) => folders.has(key))
  if (both !== undefined) throw fail(`answered a file ${both}, where others have a folder`)
}
