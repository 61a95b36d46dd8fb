import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Progress } from '../../platform/process/progress.ts'
import type { ServiceClient } from '../client.ts'
import { SheetError } from './limits.ts'
import { createConverter, type PlannedRow, type Problem } from './load/convert.ts'
import { FileProblem, findFiles, folderOf } from './load/files.ts'
import { fit } from './load/fit.ts'
import { importSheet, planned, type SheetImportSummary } from './load/import.ts'
import { isList, type StoredModel, tableOf } from './load/model.ts'
import { readLanguages, readModel } from './load/setup.ts'
import { type Mapping, mappingFileOf, parseMapping, writeMapping } from './plan/mapping.ts'
import { freeName, identifierOf, singular } from './plan/names.ts'
import { proposeOnto } from './plan/onto.ts'
import type { Proposal } from './plan/proposal.ts'
import { propose } from './plan/propose.ts'
import { describeFormat, harmless, printable, showProposal } from './plan/show.ts'
import { type SheetStatistics, statisticsOf } from './plan/statistics.ts'
import type { Sheet, SheetOptions } from './read/model.ts'
import { openSheet } from './read/sheet.ts'

export interface SheetCommand {
  readonly file: string
  readonly options: SheetOptions
  readonly mapping?: string
  readonly type?: string
  /** The language of texts whose heading names none. */
  readonly language?: string
  readonly dryRun: boolean
  /** The user is not asked for confirmation. */
  readonly yes: boolean
  readonly batch?: number
  readonly connections?: number
}

export interface SheetCommandDeps {
  /** Null when the service is not used: a dry run without a password. */
  readonly client: ServiceClient | null
  readonly progress: Progress
  readonly signal: AbortSignal
  /** Null when there is no user to ask. */
  readonly confirm: ((question: string) => Promise<boolean>) | null
}

/** `strongroom import csv|xlsx`: returns the exit code. @throws {SheetError} in one line, or a few. */
export async function importSheetFile(command: SheetCommand, deps: SheetCommandDeps): Promise<number> {
  const { file } = command
  try {
    if (!(await stat(file)).isFile()) throw new SheetError('it is no file')
    return await run(command, deps)
  } catch (error) {
    if (error instanceof SheetError) throw new SheetError(harmless(`${file}: ${error.message}`), { cause: error })
    throw error
  }
}

async function run(command: SheetCommand, deps: SheetCommandDeps): Promise<number> {
  const { file, dryRun, yes } = command
  const { client, progress, signal, confirm } = deps
  const mappingFile = command.mapping ?? mappingFileOf(file)
  const stored = command.mapping !== undefined || existsSync(mappingFile) ? await readMappingFile(mappingFile) : null
  if (stored && (command.type ?? command.language) !== undefined) {
    throw new SheetError(
      `--type and --language are for proposals, and there is the mapping ${mappingFile}: edit or remove it`,
    )
  }
  const sheet = await openSheet(file, stored ? withTold(command.options, stored, file) : command.options)
  progress.say(`${printable(basename(file))}: ${describeFormat(sheet.format)}`)
  const model = client ? await readModel(client) : { tables: [], masks: [] }
  const { mapping, rows } = stored
    ? { mapping: stored, rows: await countRows(sheet) }
    : await proposal(command, sheet, model, deps, mappingFile)
  const { columns } = fit(mapping, model)
  if (stored) progress.say(`uses the mapping ${mappingFile}`)
  if (dryRun) return check({ sheet, mapping, columns, folder: folderOf(file), progress })
  if (!client) throw new Error('there is no service to import into')
  // A mapping that the user has named needs no confirmation.
  if (!yes && command.mapping === undefined) {
    if (!confirm) {
      progress.say('nothing is imported: say --yes, or name the mapping by --mapping')
      return 1
    }
    if (!(await confirm(`Import ${rows} rows?`))) return 1
  }
  const { batch, connections } = command
  const summary = await importSheet({
    client,
    file,
    sheet,
    mapping,
    rows,
    progress,
    signal,
    batch,
    connections,
  })
  progress.say(describeSummary(summary))
  return summary.interrupted ? 130 : summary.refused > 0 ? 2 : 0
}

async function readMappingFile(file: string): Promise<Mapping> {
  return parseMapping(await readFile(file, 'utf8'), file)
}

/** The mapping's settings for the file are for this file only: a file with corrected rows may have another dialect. */
function withTold(options: SheetOptions, { file: told }: Mapping, file: string): SheetOptions {
  if (told.name !== basename(file) || told.format !== options.format) return options
  const { name: _, ...dialect } = told
  const said = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  return { ...dialect, ...said } as SheetOptions
}

async function countRows(sheet: Sheet): Promise<number> {
  let count = 0
  for await (const _ of sheet.rows()) count++
  return count
}

async function proposal(
  command: SheetCommand,
  sheet: Sheet,
  model: StoredModel,
  { client, progress }: SheetCommandDeps,
  mappingFile: string,
): Promise<{ mapping: Mapping; rows: number }> {
  const statistics = await statisticsOf(sheet.headings, sheet.rows())
  if (statistics.rows === 0) throw new SheetError('it has headings, and no rows')
  const known = client ? await readLanguages(client) : ['en-US', 'de-DE']
  const languages = [...new Set([...(command.language === undefined ? [] : [command.language]), ...known])]
  const proposed = proposeFor(command, sheet, statistics, model, languages)
  const { missing } = fit(proposed.mapping, model)
  progress.say(`\n${showProposal(proposed, missing, statistics.rows)}\n`)
  if (!command.dryRun) {
    await writeFile(mappingFile, writeMapping(proposed.mapping, proposed.reasons), { flag: 'wx' })
    progress.say(
      `wrote the mapping ${mappingFile}: edit it and run the command again to change what becomes of columns`,
    )
  }
  return { mapping: proposed.mapping, rows: statistics.rows }
}

function proposeFor(
  command: SheetCommand,
  sheet: Sheet,
  statistics: SheetStatistics,
  model: StoredModel,
  languages: readonly string[],
): Proposal {
  const names = new Set(model.tables.map(({ name }) => name))
  const usual = singular(identifierOf(basename(command.file).replace(/\.[^.]*$/, '')))
  const type = command.type ?? freeName(usual, new Set(names))
  const folder = folderOf(command.file)
  const proposed = propose(statistics, {
    file: command.file,
    format: sheet.format,
    type,
    languages,
    listFits: (name, column) => {
      const table = tableOf(model, name)
      return table ? isList(table, column) : !model.masks.some((mask) => mask.name === name)
    },
    fileExists: (path) => existsSync(join(folder, path.replaceAll('\\', '/'))),
  })
  const table = tableOf(model, type)
  return table ? proposeOnto(proposed, table, model) : proposed
}

interface CheckOptions {
  readonly sheet: Sheet
  readonly mapping: Mapping
  readonly columns: ReturnType<typeof fit>['columns']
  readonly folder: string
  readonly progress: Progress
}

/** Checks all rows and their files as an import would, and reports the first rows that would be refused. */
async function check({ sheet, mapping, columns, folder, progress }: CheckOptions): Promise<number> {
  const convert = createConverter({ mapping, columns, headings: sheet.headings })
  let wrong = 0
  for await (const row of planned(sheet.rows(), convert)) {
    const problems = [...row.problems, ...(await missingFiles(row, folder))]
    if (problems.length === 0) continue
    wrong++
    if (wrong > 10) continue
    for (const { heading, value, reason } of problems) {
      const place = `row ${row.number}${heading === '' ? '' : `, ${printable(heading, 30)}`}`
      progress.say(`  ${place}: ${printable(value)} ${printable(reason, 200)}`)
    }
  }
  const found = wrong === 0 ? 'no row is wrong' : `${wrong} rows are wrong`
  progress.say(`a dry run: ${found}, nothing was changed`)
  return wrong === 0 ? 0 : 2
}

async function missingFiles({ files }: PlannedRow, folder: string): Promise<Problem[]> {
  const problems: Problem[] = []
  for (const { column, values } of files) {
    for (const value of values) {
      await findFiles(folder, value, column.mapping).catch((error: Error) => {
        if (!(error instanceof FileProblem)) throw error
        problems.push({ heading: column.mapping.heading, value, reason: error.message })
      })
    }
  }
  return problems
}

function describeSummary(summary: SheetImportSummary): string {
  const { created, updated, unchanged, refused, terms, seconds, interrupted, errorsFile } = summary
  const parts = [`${created} created`, `${updated} updated`, `${unchanged} as they were`, `${refused} wrong`]
  const rate = Math.round((created + updated + unchanged + refused) / Math.max(seconds, 0.001))
  const head = interrupted ? 'interrupted; the same command goes on from here' : 'done'
  const lists = terms > 0 ? `, and ${terms} values of lists` : ''
  const wrong =
    refused > 0 && errorsFile
      ? `\nwhat was wrong: ${errorsFile} (correct it there, and import it with the same mapping)`
      : ''
  return `${head}: of the rows ${parts.join(', ')}${lists}, in ${seconds.toFixed(1)} s (${rate} rows/s)${wrong}`
}
