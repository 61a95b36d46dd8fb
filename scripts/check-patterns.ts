/**
 * Searches the regular expressions of `src`, in literals and schemas (`pattern`), for patterns that take more than linear
 * time: with such a pattern, the sender of a text could block all other callers. Prints each with a text on which it is
 * slow.
 */
import { globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import ts from 'typescript'

export interface Found {
  /** File and line. */
  readonly place: string
  readonly source: string
  readonly flags: string
}

interface Judgement {
  readonly found: Found
  /** Null: the pattern is linear. */
  readonly fault: string | null
}

const root = join(import.meta.dirname, '..')

/** Slow patterns that are allowed, by their text, with the reason why they get no long texts. */
const allowed: Readonly<Record<string, string>> = {}

/** Patterns made at run time, by file: their parts. */
const made: Readonly<Record<string, string>> = {
  'src/search/document/analyze.ts': 'one class of letters that stand in the file',
}

/**
 * Milliseconds for one pattern; one that cannot be decided in that time counts as slow. The load of the machine must not
 * decide anything, so the parts of the search are only limited by their steps.
 */
const patience = 300_000
const bounds = { timeout: patience, attackTimeout: null, incubationTimeout: null, mutationTimeout: null }

/** The patterns of one file, and the places where a pattern is built at run time. */
export function patternsIn(name: string, text: string): { patterns: Found[]; made: string[] } {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true)
  const patterns: Found[] = []
  const atRunTime: string[] = []
  const placeOf = (node: ts.Node): string => `${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      patterns.push({ place: placeOf(node), source: node.text.slice(1, end), flags: node.text.slice(end + 1) })
    } else if (ts.isPropertyAssignment(node) && node.name.getText() === 'pattern' && isText(node.initializer)) {
      // With the flags of the validator.
      patterns.push({ place: placeOf(node), source: node.initializer.text, flags: 'u' })
    } else if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp') {
      atRunTime.push(placeOf(node))
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return { patterns, made: atRunTime }
}

function isText(node: ts.Node): node is ts.StringLiteral | ts.NoSubstitutionTemplateLiteral {
  return ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)
}

/**
 * Whether nothing in the pattern repeats without end, and no group repeats: it reads only a few characters from each
 * position.
 */
function isShort(source: string): boolean {
  const outline = source.replaceAll(/\\./gs, 'x').replaceAll(/\[[^\]]*\]/g, 'x')
  return !/[*+]|\{\d+,\}|\)\{/.test(outline)
}

/** The fault of each pattern; null for patterns that are not slow. */
export async function judged(patterns: readonly Found[]): Promise<Judgement[]> {
  process.env.RECHECK_BACKEND = 'pure'
  const { checkSync } = await import('recheck')
  return patterns.map((found) => {
    const result = checkSync(found.source, found.flags, bounds)
    if (result.status === 'safe') return { found, fault: null }
    if (result.status === 'unknown') return { found, fault: `it cannot be decided (${result.error.kind})` }
    return { found, fault: `${result.complexity.summary}, on ${result.attack.pattern.slice(0, 200)}` }
  })
}

/** Each pattern once, by all workers together: some are found in a moment, some take a second. */
async function judgedByWorkers(patterns: readonly Found[], workers: number): Promise<Judgement[]> {
  const each = new Map(patterns.map((one) => [`/${one.source}/${one.flags}`, one]))
  const open = [...each.values()].filter(({ source }) => !isShort(source))
  const parts = Array.from({ length: workers }, (_, at) => open.filter((__, index) => index % workers === at))
  const results = await Promise.all(
    parts.map(
      (part) =>
        new Promise<Judgement[]>((resolve, reject) => {
          const worker = new Worker(new URL(import.meta.url), { workerData: part })
          worker.once('message', resolve)
          worker.once('error', reject)
        }),
    ),
  )
  return results.flat()
}

async function main(): Promise<void> {
  const files = globSync('src/**/*.ts', { cwd: root }).map((name) => join(root, name))
  const all = files.map((file) => patternsIn(relative(root, file).replaceAll('\\', '/'), readFileSync(file, 'utf8')))
  const patterns = all.flatMap((one) => one.patterns)
  const slow = (await judgedByWorkers(patterns, 2)).filter(({ fault }) => fault !== null)
  const refused = slow.filter(({ found }) => !(found.source in allowed))
  for (const { found, fault } of refused) console.log(`${found.place} /${found.source}/${found.flags} ${fault}`)
  const unknown = all.flatMap((one) => one.made).filter((place) => !((place.split(':')[0] as string) in made))
  for (const place of unknown) console.log(`${place} makes a pattern at run time: say in this script what of`)
  const gone = Object.keys(allowed).filter((source) => !slow.some(({ found }) => found.source === source))
  for (const source of gone) console.log(`/${source}/ is allowed and not there, or not slow`)
  if (patterns.length === 0) console.log('there are no patterns: this script reads them wrong')
  console.log(`${patterns.length} patterns`)
  if (refused.length + unknown.length + gone.length > 0 || patterns.length === 0) process.exit(1)
}

if (!isMainThread && Array.isArray(workerData)) parentPort?.postMessage(await judged(workerData as Found[]))
else if (import.meta.main) await main()
