import type { Actor } from '../../platform/actor.ts'
import { badRequest } from '../../platform/errors.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Sheet } from './format.ts'
import { splittingBy } from './parts.ts'
import { isSheetName, largestSheet, sheetProblem } from './sheets.ts'

export interface SheetFiles {
  holdForSection(
    tx: Tx,
    actor: Actor,
    section: string,
    files: readonly { readonly id: number; readonly path: string; readonly known: boolean }[],
  ): Promise<void>
  contentOfSetting(
    from: Queryable,
    id: number,
    mostBytes: number,
  ): Promise<{ readonly extension: string; readonly text: string | null } | null>
}

interface SheetConfig {
  readonly export: { readonly xslts: readonly Pick<Sheet, 'xslt' | 'xpath_query'>[] }
}

/**
 * Checks the style sheets of the base configuration: the caller must have the right to download the files, and they must
 * compile.
 * @throws {AppError} `ServerGeneric` with the path of the row
 */
export async function checkSheets(
  files: SheetFiles,
  tx: Tx,
  actor: Actor,
  { before, after }: { readonly before: SheetConfig; readonly after: SheetConfig },
): Promise<void> {
  const known = new Set(before.export.xslts.map(({ xslt }) => xslt))
  const sheets = after.export.xslts.map(({ xslt: id }, index) => ({
    id,
    path: `system/config/export/xslts/${index}/xslt`,
    known: known.has(id),
  }))
  await files.holdForSection(tx, actor, 'export', sheets)
  // A file that was checked before is not checked again: contents never change.
  const fresh = new Map(sheets.filter((sheet) => !sheet.known).map(({ id, path }) => [id, path]))
  for (const [id, path] of fresh) {
    const problem = await problemOf(files, tx, id)
    if (problem !== null) throw badRequest(`${path}: ${problem}`, { path, value: id })
  }
  await checkExpressions(files, tx, before, after)
}

/** Checks the expressions for the beginnings of records, with the prefixes of their sheets. */
async function checkExpressions(files: SheetFiles, tx: Tx, before: SheetConfig, after: SheetConfig): Promise<void> {
  const known = new Set(before.export.xslts.map(({ xslt, xpath_query }) => `${xslt} ${xpath_query}`))
  for (const [index, { xslt, xpath_query: expression }] of after.export.xslts.entries()) {
    if (expression === '' || known.has(`${xslt} ${expression}`)) continue
    const path = `system/config/export/xslts/${index}/xpath_query`
    const text = (await files.contentOfSetting(tx, xslt, largestSheet))?.text ?? ''
    const problem = await sheetProblem(splittingBy(expression, text).sheet, '<none/>')
    if (problem !== null) throw badRequest(`${path}: ${problem}`, { path, value: expression })
  }
}

async function problemOf(files: SheetFiles, tx: Tx, id: number): Promise<string | null> {
  const content = await files.contentOfSetting(tx, id, largestSheet)
  if (!content) return `there is no file ${id}`
  if (!isSheetName(content.extension)) return `the file ${id} must be an .xsl or .xslt`
  return content.text === null ? `a style sheet has ${largestSheet} bytes at most` : sheetProblem(content.text)
}
