import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { sections } from '../src/config/catalogue.ts'
import { eventTypes } from '../src/events/types.ts'
import { catalogue } from '../src/platform/catalogue.ts'
import { keys } from '../src/platform/config/keys.ts'

/** What the documentation names must be there: files, links, commands, events, error codes, settings. */

const root = join(import.meta.dirname, '..')
const pages = ['README.md', 'CONTRIBUTING.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].map(
  (path) => ({ path, text: readFileSync(join(root, path), 'utf8') }),
)
const source = filesBelow('src')
const code = source.map((path) => readFileSync(join(root, path), 'utf8')).join('\n')

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
}

/** All first groups of the pattern in all pages that `known` does not accept, with their page. */
function unknown(pattern: RegExp, known: (found: string, page: string) => boolean): string[] {
  return pages.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].flatMap(([, found = '']) => (known(found, path) ? [] : [`${path}: ${found}`])),
  )
}

test('files and folders that the documentation names exist', () => {
  const folders = /(?:^|[\s`(])((?:src|test|docs|bench|fuzz|torture|scripts|bin|examples|migrations)\/[\w./-]*\w)/gm
  const made = /^test\/x\//
  assert.deepEqual(
    unknown(folders, (path) => made.test(path) || existsSync(join(root, path))),
    [],
  )
  // `rights/compile.ts` and `write.ts` are meant from src/ or from the folder that the paragraph is about.
  const files = [
    ...source,
    ...filesBelow('test'),
    ...filesBelow('fuzz'),
    ...filesBelow('torture'),
    ...filesBelow('scripts'),
  ]
  assert.deepEqual(
    unknown(
      /`([\w./-]+\.(?:ts|mjs|cjs|js))`/g,
      (name) => existsSync(join(root, name)) || files.some((path) => path.endsWith(`/${name}`)),
    ),
    [],
  )
})

test('links between pages lead to pages and headings', () => {
  const slug = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
  const headings = (path: string) =>
    [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => slug(heading))
  assert.deepEqual(
    unknown(/\]\((?!https?:)([^)\s]+)\)/g, (link, page) => {
      const [file = '', anchor] = link.split('#')
      const path = file === '' ? join(root, page) : join(root, dirname(page), file)
      return existsSync(path) && (anchor === undefined || headings(path).includes(anchor))
    }),
    [],
  )
})

test('commands that the documentation names exist', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }
  assert.deepEqual(
    unknown(/npm run ([\w-]+)/g, (name) => Object.hasOwn(scripts, name)),
    [],
  )
  const main = readFileSync(join(root, 'src/main.ts'), 'utf8')
  assert.deepEqual(
    unknown(/(?:`|npx |^)(?:bin\/)?strongroom(?:\.js)? ([a-z]+)/gm, (name) => main.includes(`'${name}'`)),
    [],
  )
})

test('event types, error codes and settings that the documentation names are in the catalogues', () => {
  const groups = ['OBJECT', 'USER', 'GROUP', 'POOL', 'TAG', 'TRANSITION', 'EMAIL', 'WEBHOOK', 'BACKUP', 'DATAMODEL']
  const types = new RegExp(`\`((?:${groups.join('|')}|BASE_CONFIG|OBJECTTYPE)_[A-Z_]+)\``, 'g')
  assert.deepEqual(
    unknown(types, (type) => Object.hasOwn(eventTypes, type)),
    [],
  )
  // What is written like a code is one, or a name that the source has: a schema, a key of `info`.
  const info = new Set(Object.values(eventTypes).flatMap((type) => type.info))
  assert.deepEqual(
    unknown(
      /`([A-Z][a-z]+(?:[A-Z][a-z]*)+)`/g,
      (name) => Object.hasOwn(catalogue, name) || info.has(name) || code.includes(`'${name}'`),
    ),
    [],
  )
  const paths = Object.values(keys).map(({ path }) => path)
  const variables = new Set(Object.values(keys).map(({ env }) => env))
  assert.deepEqual(
    unknown(
      /`(svc\.[\w.]*\w)`/g,
      (name) => name === 'svc.yml' || paths.some((path) => path === name || path.startsWith(`${name}.`)),
    ),
    [],
  )
  assert.deepEqual(
    unknown(/\b(SVC_[A-Z_]*[A-Z])\b/g, (name) => variables.has(name) || code.includes(`'${name}'`)),
    [],
  )
})

test('the page for administrators has every section of the base configuration with its members', () => {
  const page = readFileSync(join(root, 'docs/administration.md'), 'utf8')
  const missing = Object.entries(sections).flatMap(([name, { members }]) => {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? ''
    return Object.keys(members).flatMap((member) => (row.includes(`\`${member}\``) ? [] : [`${name}.${member}`]))
  })
  assert.deepEqual(missing, [])
})
