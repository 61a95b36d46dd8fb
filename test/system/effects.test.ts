import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { startService, type TestService } from '../support/service.ts'
import { settable } from './effects.walk.ts'

/**
 * Decision 26: what is known has its effect or is refused. `effects.json` names for each query parameter and each field of
 * a body the test file that shows its effect, `refused`, `always on` (`strict` where nothing would only be named:
 * test/platform/query-names.test.ts), or `accepted, ignored` where the specification says so. Here only
 * is seen that the file mentions it; `node scripts/effects.ts` takes it out of the requests and sees whether that is noticed.
 */
interface List {
  readonly effects: Readonly<Record<string, string>>
}

const list: List = JSON.parse(readFileSync(new URL('effects.json', import.meta.url), 'utf8'))

const at = (file: string): URL => new URL(`../../${file}`, import.meta.url)

suite('nothing is accepted in vain', () => {
  let svc: TestService
  let known: ReturnType<typeof settable>
  before(async () => {
    svc = await startService()
    known = settable((await svc.as(null).get('/system/openapi/spec.json')).body)
  })
  after(() => svc[Symbol.asyncDispose]())

  test('every parameter and field is in the list, and nothing else is', () => {
    const listed = Object.keys(list.effects)
    assert.ok(known.size > 100)
    assert.deepEqual(listed.toSorted(), [...known.keys()].toSorted())
  })

  test('each is mentioned by the test file that the list names, or refused as it says', () => {
    const texts = new Map<string, string>()
    /** The file, with what it is built on: scenes and people that several tests share. */
    const text = (file: string): string => {
      const known = texts.get(file)
      if (known !== undefined) return known
      const own = existsSync(at(file)) ? readFileSync(at(file), 'utf8') : ''
      texts.set(file, own)
      const shared = [...own.matchAll(/from '(\.[^']*)'/g)].map(([, from = '']) => join(dirname(file), from))
      const whole = [own, ...shared.filter((each) => each.startsWith('test/')).map(text)].join('\n')
      texts.set(file, whole)
      return whole
    }
    const wrong = Object.entries(list.effects).flatMap(([key, effect]) => {
      const { name, refused, always } = known.get(key) ?? { name: '', refused: false }
      if (effect === 'accepted, ignored') return []
      if (always || effect === 'always on') return always && effect === 'always on' ? [] : [`${key}: ${effect}`]
      if (refused || effect === 'refused') return refused && effect === 'refused' ? [] : [`${key}: ${effect}`]
      return mentions(text(effect), name) ? [] : [`${key}: ${effect} does not mention it`]
    })
    assert.deepEqual(wrong, [])
  })
})

function mentions(text: string, name: string): boolean {
  return new RegExp(`(?<![\\w$])${RegExp.escape(name)}(?![\\w$])`).test(text)
}
