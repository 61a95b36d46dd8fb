import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The import rules of docs/architecture.md. A folder of src/ imports only from folders named before it; from another
 * capability it imports the public files only; nothing imports in circles and no file lies about unused.
 */
const order = [
  'platform',
  'jobs',
  'events',
  'config',
  'mail',
  'webhooks',
  'rights',
  'people',
  'signin',
  'oauth',
  'messages',
  'datamodel',
  'tags',
  'transitions',
  'objecttypes',
  'pools',
  'files',
  'objects',
  'plugins',
  'collections',
  'mappings',
  'search',
  'ingest',
  'drives',
  'publish',
  'formats',
  'exports',
  'deep-links',
  'harvest',
  'tasks',
  'system',
  'maintenance',
  'inspect',
  'import',
]

const unlisted = readdirSync(join(import.meta.dirname, 'src'), { withFileTypes: true })
  // compose/ puts all of them together.
  .filter((entry) => entry.isDirectory() && entry.name !== 'compose' && !order.includes(entry.name))
  .map(({ name }) => name)
if (unlisted.length > 0) throw new Error(`give src/${unlisted[0]} its place in the import order`)

/** The same within a folder: its sub-folders in the order of their imports. */
const inside = {
  platform: [
    'values',
    'xml',
    'memory',
    'secrets',
    'config',
    'limits',
    'process',
    'tracing',
    'outgoing',
    'postgres',
    'http',
  ],
  files: [
    'blobs',
    'addresses',
    'remote',
    'locations',
    'records',
    'archives',
    'kept',
    'renditions',
    'images',
    'shown',
    'upload',
    'delivery',
    'fixity',
    'moves',
  ],
  people: ['groups', 'users'],
  signin: ['sessions', 'pages', 'flows', 'directories', 'account', 'factors'],
  oauth: ['grants', 'authorize'],
  'files/renditions': ['workshop', 'programs', 'sources', 'recipes', 'make', 'plan'],
  'search/postgres/query': [
    'sql',
    'access',
    'linked',
    'words',
    'conditions',
    'order',
    'facets',
    'statements',
    'results',
  ],
  objects: ['stored', 'content', 'masks', 'standard', 'values', 'render', 'read', 'save', 'delete', 'info', 'upkeep'],
}

const rooms = Object.entries(inside).flatMap(([folder, subfolders]) => {
  const unnamed = readdirSync(join(import.meta.dirname, 'src', folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !subfolders.includes(entry.name))
    .map(({ name }) => name)
  if (unnamed.length > 0) throw new Error(`give src/${folder}/${unnamed[0]} its place in the import order`)
  return subfolders.slice(0, -1).map((name, index) => ({
    name: `order-${folder}-${name}`,
    severity: 'error',
    comment: `src/${folder}/${name} may import from: ${subfolders.slice(0, index + 1).join(', ')}`,
    from: { path: `^src/${folder}/${name}/` },
    to: { path: `^src/${folder}/(${subfolders.slice(index + 1).join('|')})/` },
  }))
})

const layers = order.slice(0, -1).map((folder, index) => ({
  name: `order-${folder}`,
  severity: 'error',
  comment: `src/${folder} may import from: ${order.slice(0, index + 1).join(', ')}`,
  from: { path: `^src/${folder}/` },
  to: { path: `^src/(${[...order.slice(index + 1), 'compose'].join('|')})/|^src/[^/]+\\.ts$` },
}))

export default {
  forbidden: [
    ...layers,
    ...rooms,
    {
      name: 'public-files',
      severity: 'error',
      comment: 'from another capability import its service, its model or its wire shapes',
      from: { path: '^src/([^/]+)/', pathNot: '^src/compose/' },
      to: {
        path: '^src/[^/]+/',
        pathNot: ['^src/$1/', '^src/platform/', '^src/[^/]+/(service|schema|model)\\.ts$'],
      },
    },
    // What has one way in: a file that wraps it, and no other place of src that names it.
    ...[
      [
        'platform/outgoing/ask',
        '^(node:)?https?$',
        'whatever an address is typed in for is asked through platform/outgoing',
      ],
      [
        'platform/xml/reader',
        '^node_modules/sax/',
        'XML is read by platform/xml/reader.ts and platform/xml/document.ts',
      ],
    ].map(([file, path, comment]) => ({
      name: `only-${file.replaceAll('/', '-')}`,
      severity: 'error',
      comment,
      from: { path: '^src/', pathNot: `/${file}\\.ts$` },
      to: { path, dependencyTypesNot: ['type-only'] },
    })),
    {
      name: 'trusted-html',
      severity: 'error',
      comment:
        'HTML is made by platform/values/html.ts, which escapes; these vouch for their own styles and scripts, for the documentation, and for data in a page',
      from: {
        path: '^src/',
        pathNot:
          '/html\\.ts$|^src/(formats/html/page|signin/pages/layout|inspect/view/layout|signin/factors/pages/passkey-form|system/openapi/page|system/pages/documentation)\\.ts$',
      },
      to: { path: '/trusted-html\\.ts$' },
    },
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphans',
      severity: 'error',
      // Scripts of pages are sent as they are, not imported; declarations of libraries are read by the compiler.
      from: { orphan: true, path: '^src/', pathNot: '\\.(client\\.js|d\\.ts)$' },
      to: {},
    },
    {
      name: 'no-test-code',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|torture|scripts)/' },
    },
    {
      name: 'no-dev-dependencies',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
}
