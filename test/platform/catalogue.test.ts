import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { catalogue, type ErrorDefinition } from '../../src/platform/catalogue.ts'

test('a code is marked as coming or never answered exactly where nothing answers it', () => {
  const folder = join(import.meta.dirname, '..', '..', 'src')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('catalogue.ts'),
  )
  const text = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
  for (const [code, { coming, never }] of Object.entries<ErrorDefinition>(catalogue)) {
    const marked = coming !== undefined || never !== undefined
    assert.notEqual(text.includes(`'${code}'`), marked, `${code} is ${marked ? '' : 'not '}marked`)
  }
})
