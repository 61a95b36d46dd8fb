import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type DeepLink, manifestFormat, parseDeepLink } from '../../src/deep-links/path.ts'
import { AppError } from '../../src/platform/errors.ts'

const nothing = {
  version: null,
  mask: null,
  file: null,
  browser: null,
  fileVersion: null,
  format: null,
  disposition: null,
}

const refusal = (path: string): AppError => {
  try {
    parseDeepLink(path)
  } catch (error) {
    assert.ok(error instanceof AppError, `${path}: ${error}`)
    return error
  }
  throw new Error(`${path} is read`)
}

test('selectors are read in any order, an encoded slash belongs to its part', () => {
  assert.deepEqual(parseDeepLink('id/42'), { ...nothing, object: { by: 'id', id: 42 } })
  assert.deepEqual(parseDeepLink('format/xslt/my%2Fsheet/uuid/a%20b/version/3/disposition/inline'), {
    ...nothing,
    object: { by: 'uuid', uuid: 'a b' },
    version: 3,
    format: 'xslt/my/sheet',
    disposition: 'inline',
  })
  assert.deepEqual(parseDeepLink('column/work/inventory/A%2F1'), {
    ...nothing,
    object: { by: 'column', objecttype: 'work', column: 'inventory', value: 'A/1' },
  })
  assert.deepEqual(parseDeepLink('id/1/file/id/eas:a%2Fb').file, { by: 'reference', reference: 'a/b' })
})

const refused = [
  '',
  'id',
  'id/',
  'id/0',
  'id/-1',
  'id/01',
  'id/1.5',
  'id/99999999999999999',
  'id/9007199254740993',
  'id/1/',
  '/id/1',
  'id//1',
  'id/1/id/1',
  'id/1/uuid/a',
  'uuid/a/column/work/x/y',
  'column/work/inventory',
  'column/work/inventory/A1/latest',
  'mask/a',
  'latest/id/1',
  'id/1/mask/a/latest',
  'id/1/latest/version/1',
  'id/1/version/0',
  'id/1/version',
  'id/1/mask/a/mask/b',
  'id/1/file',
  'id/1/file/some/1',
  'id/1/file/standard/0',
  'id/1/file/column',
  'id/1/file/id/eas:',
  'id/1/file/id/x',
  'id/1/file/all/1/file/all/2',
  'id/1/file_browser/first',
  'id/1/file_version/name/preview',
  'id/1/file/all/1/file_version/size/1',
  'id/1/format',
  'id/1/format/json/format/csv',
  'id/1/format/xslt',
  'id/1/format/iiif',
  'id/1/format/iiif/v2/manifest.json',
  'id/1/format/iiif/v3',
  'id/1/file/all/1/format/json',
  'id/1/file_browser/1/format/json',
  `id/1/file/all/1/format/${manifestFormat}`,
  'id/1/disposition/other',
  'id/1/../2',
  'id/1/%2e%2e/2',
  'uuid/%00',
  'uuid/a%00b',
  'uuid/%',
  'uuid/%ff',
  'uuid/%ed%a0%80',
  '__proto__/1',
  'constructor/1',
  'id/1/toString/x',
  `uuid/${'a'.repeat(4000)}`,
  Array.from({ length: 5000 }, () => 'id/1').join('/'),
  Array.from({ length: 1000 }, () => 'a').join('/'),
]

test('what is no such sequence is refused as a path', () => {
  for (const path of refused) {
    const { code, parameters } = refusal(path)
    assert.equal(code, 'ApiObjectPath', path)
    assert.ok(`${parameters.reason}`.length < 300, path)
  }
})

const word = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 12 })
  .filter((text) => text.isWellFormed() && !text.includes('\0'))
const number = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null })

const links: fc.Arbitrary<DeepLink> = fc
  .record({
    object: fc.oneof(
      fc.record({ by: fc.constant('id' as const), id: number }),
      fc.record({ by: fc.constant('uuid' as const), uuid: word }),
      fc.record({ by: fc.constant('column' as const), objecttype: word, column: word, value: word }),
    ),
    version: maybe(number),
    mask: maybe(word),
    file: maybe(
      fc.oneof(
        fc.record({ by: fc.constantFrom('standard' as const, 'all' as const), n: number }),
        fc.record({ by: fc.constant('id' as const), id: number }),
        fc.record({ by: fc.constant('reference' as const), reference: word }),
        fc.record({ by: fc.constant('column' as const), column: word, n: number }),
      ),
    ),
    browser: maybe(fc.oneof(fc.constant('preferred' as const), number)),
    fileVersion: maybe(fc.oneof(fc.record({ name: word }), fc.record({ group: word }))),
    format: maybe(
      fc.oneof(
        fc.constantFrom('json', 'xml_native', manifestFormat),
        word.map((name) => `xslt/${name}`),
      ),
    ),
    disposition: maybe(fc.constantFrom('inline' as const, 'attachment' as const)),
  })
  .map((link) => {
    const wantsFile = link.file !== null || link.browser !== null
    return {
      ...link,
      version: link.object.by === 'column' ? null : link.version,
      format: wantsFile ? null : link.format,
      fileVersion: wantsFile ? link.fileVersion : null,
    } as DeepLink
  })

function selectorsOf(link: DeepLink): string[][] {
  const { object, version, mask, file, browser, fileVersion, format, disposition } = link
  const named = Object.values(object).map(String)
  const texts: (string[] | null)[] = [
    [...named, ...(version === null ? [] : ['version', `${version}`])],
    mask === null ? null : ['mask', mask],
    file &&
      (file.by === 'reference'
        ? ['file', 'id', `eas:${file.reference}`]
        : ['file', ...Object.values(file).map(String)]),
    browser === null ? null : ['file_browser', `${browser}`],
    fileVersion && ['file_version', ...Object.entries(fileVersion).flat()],
    format === null
      ? null
      : ['format', ...(format.startsWith('xslt/') ? ['xslt', format.slice(5)] : format.split('/'))],
    disposition === null ? null : ['disposition', disposition],
  ]
  return texts.filter((parts) => parts !== null)
}

test('what a path is made of is what is read of it, in whatever order', () => {
  fc.assert(
    fc.property(links, fc.infiniteStream(fc.double({ noNaN: true, min: 0, max: 1 })), (link, random) => {
      const parts = selectorsOf(link)
        .map((selector) => [random.next().value ?? 0, selector] as const)
        .sort(([a], [b]) => a - b)
      const path = parts.map(([, selector]) => selector.map(encodeURIComponent).join('/')).join('/')
      assert.deepEqual(parseDeepLink(path), structuredClone(link))
    }),
  )
})

test('any path at all is read or refused', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(fc.constantFrom('id', 'uuid', '1', 'file', 'column', 'format', 'version', '%2f', ''), fc.string()),
      ),
      (parts) => {
        try {
          parseDeepLink(parts.join('/'))
        } catch (error) {
          assert.equal((error as AppError).code, 'ApiObjectPath')
        }
      },
    ),
  )
})
