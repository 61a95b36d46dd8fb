import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { catalogue, type ErrorDefinition } from '../../src/platform/catalogue.ts'

const src = join(import.meta.dirname, '..', '..', 'src')
const code = readdirSync(src, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && entry.name !== 'catalogue.ts')
  .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
  // What a route says that it may answer is not what answers it.
  .map((text) => text.replaceAll(/\berrors: \[[^\]]*\]/g, ''))
  .join('\n')
const definitions = Object.entries<ErrorDefinition>(catalogue)
const answered = (name: string): boolean => code.includes(`'${name}'`)

test('each error is answered somewhere, or says with which capability it comes', () => {
  const wrong = definitions.filter(([name, { coming }]) => answered(name) === (coming !== undefined))
  assert.deepEqual(
    wrong.map(([name]) => name),
    [],
  )
})

test('each text is a sentence about the error, not its name once more', () => {
  const letters = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, '')
  const wrong = definitions.filter(([name, { text }]) => letters(text) === letters(name) || !/^[A-Z].*\.$/.test(text))
  assert.deepEqual(
    wrong.map(([name]) => name),
    [],
  )
})
